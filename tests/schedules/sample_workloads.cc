#include "tests/schedules/sample_workloads.h"

namespace kindred {

const std::vector<SampleWorkload>& SmallWorkloads() {
  static const std::vector<SampleWorkload> kSamples = {
      {"gemm_bias_gelu",
       "input X: f32[7,13]\nweight W: f32[13,5]\nweight b: f32[5]\n"
       "T[m,n] = sum[k](X[m,k] * W[k,n])\noutput Y[m,n] = gelu(T[m,n] + b[n])\n"},
      {"batched_gemm",
       "input A: f32[2,3,4,5]\ninput B: f32[2,3,5,6]\n"
       "output Y[b,h,m,n] = sum[k](A[b,h,m,k] * B[b,h,k,n])\n"},
      {"gemm_f16",
       "input X: f16[4,9]\nweight W: f16[9,6]\noutput Y: f16[m,n] = sum[k](X[m,k] * W[k,n])\n"},
      {"gemm_bf16",
       "input X: bf16[4,9]\nweight W: bf16[6,9]\noutput Y[m,n] = sum[k](X[m,k] * W[n,k])\n"},
      {"gemm_i8", "input X: i8[4,9]\nweight W: i8[9,6]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n"},
      {"gemm_f64",
       "input X: f64[4,9]\nweight W: f64[9,6]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n"},
      {"convolution",
       "input X: f32[1,3,9,11]\nweight W: f32[4,3,3,3]\nweight b: f32[4]\n"
       "T[n,o,y=9,x=11] = sum[c,r,s](padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])\n"
       "output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o])\n"},
      {"convolution_strided",
       "input X: f32[2,3,9,9]\nweight W: f32[4,3,3,3]\n"
       "output Y[n,o,y=5,x=5] = sum[c,r,s](padded(X[n, c, 2*y+r-1, 2*x+s-1], 0) * W[o,c,r,s])\n"},
      {"convolution_grouped",
       "input X: f32[1,6,7,7]\nweight W: f32[4,3,3,3]\n"
       "output Y[n,o=4,y=5,x=5] = sum[c,r,s](X[n, o/2*3 + c, y+r, x+s] * W[o,c,r,s])\n"},
      {"convolution_1x1",
       "input X: f32[1,6,4,5]\nweight W: f32[7,6,1,1]\noutput Y[n,o,y,x] = sum[c](X[n,c,y,x] * W[o,c,0,0])\n"},
      {"depthwise",
       "input X: f32[1,5,8,8]\nweight W: f32[5,1,3,3]\nweight b: f32[5]\n"
       "T[n,c,y=8,x=8] = sum[r,s](padded(X[n, c, y+r-1, x+s-1], 0) * W[c,0,r,s])\n"
       "output Y[n,c,y,x] = min(max(T[n,c,y,x] + b[c], 0), 6)\n"},
      {"max_pool",
       "input P: f32[1,3,9,9]\noutput Q[n,c,y=5,x=5] = max[r=3,s=3](padded(P[n, c, 2*y+r-1, 2*x+s-1], -inf))\n"},
      {"average_pool", "input X: f32[2,3,4,4]\noutput Y[n,c] = sum[y,x](X[n,c,y,x]) / 16\n"},
      {"softmax",
       "input X: f32[3,4,9]\nM[h,i] = max[j](X[h,i,j])\nE[h,i,j] = exp(X[h,i,j] - M[h,i])\n"
       "S[h,i] = sum[j](E[h,i,j])\noutput Y[h,i,j] = E[h,i,j] / S[h,i]\n"},
      {"layer_norm",
       "input X: f32[5,12]\nweight g: f32[12]\nweight b: f32[12]\nS[m] = sum[k](X[m,k])\nU[m] = S[m] / 12\n"
       "Q[m] = sum[k]((X[m,k] - U[m]) * (X[m,k] - U[m]))\nV[m] = Q[m] / 12\n"
       "output Y[m,k] = (X[m,k] - U[m]) / sqrt(V[m] + 1e-5) * g[k] + b[k]\n"},
      {"rms_norm",
       "input X: f32[5,12]\nweight g: f32[12]\n"
       "output Y[m,k] = X[m,k] * rsqrt(sum[j](X[m,j] * X[m,j]) / 12 + 1e-6) * g[k]\n"},
      {"attention",
       "input Q: f32[2,5,4]\ninput K: f32[2,6,4]\ninput V: f32[2,6,3]\n"
       "S[h,i,j] = sum[d](Q[h,i,d] * K[h,j,d]) * 0.5\nM[h,i] = max[j](S[h,i,j])\n"
       "E[h,i,j] = exp(S[h,i,j] - M[h,i])\nZ[h,i] = sum[j](E[h,i,j])\n"
       "output O[h,i,d] = sum[j](E[h,i,j] * V[h,j,d]) / Z[h,i]\n"},
      {"transpose", "input X: f32[3,4,5]\noutput Y[k,i,j] = X[i,j,k]\n"},
      {"concat_and_slice",
       "input A: f32[3,4]\ninput B: f32[5,4]\noutput C[r=8,c] = select(r < 3, A[r,c], B[r-3,c])\n"
       "output D[r=2,c] = B[2*r+1,c]\n"},
      {"gather",
       "input J: i32[6]\nweight E: f32[9,4]\ninput P: f32[6,4]\noutput Y[t,f] = E[J[t],f] + P[t,f]\n"},
      {"arg_max",
       "input X: f32[4,11]\noutput I[i] = argmax[k](X[i,k])\noutput J: i32[i] = argmin[k](X[i,k])\n"},
      {"masked_select",
       "input M: bool[4,6]\ninput X: f32[4,6]\ninput Z: f32[6]\n"
       "output Y[i,j] = select(M[i,j] and j <= i, X[i,j], Z[j] * 0.25)\n"},
      {"activations",
       "input X: f32[4,6]\noutput A[i,j] = mish(X[i,j]) + elu(X[i,j]) + hardswish(X[i,j])\n"
       "output B[i,j] = leaky_relu(X[i,j], 0.2) + relu6(X[i,j]) + softplus(X[i,j]) + silu(X[i,j])\n"
       "output C[i,j] = gelu_tanh(X[i,j]) - sigmoid(X[i,j]) * tanh(X[i,j]) + hardsigmoid(X[i,j])\n"},
      {"mathematics",
       "input X: f32[9]\ninput P: f32[9]\n"
       "output Y[i] = log(P[i]) + sqrt(P[i]) + rsqrt(P[i]) + pow(P[i], X[i]) + abs(X[i]) - sin(X[i])\n"
       "output Z[i] = cos(X[i]) * tan(X[i]) / P[i] + floor(X[i] * 3) + ceil(X[i] * 5) + round(X[i] * 7)\n"},
      {"integers",
       "input A: i32[8]\ninput B: i64[8]\ninput C: i32[8]\n"
       "output Y[i] = A[i] / C[i] + A[i] % 7 - min(A[i], 3)\noutput Z[i] = abs(B[i]) * i + max(B[i], -4)\n"
       "output W: i8[i] = i8(A[i])\n"},
      {"casts",
       "input X: f32[7]\ninput H: f16[7]\noutput Y[i] = i32(X[i] * 10)\noutput Z: bf16[i] = H[i] * X[i]\n"},
      {"mean_and_variance",
       "input X: f32[4,6,5]\nS[c] = sum[n,x](X[n,c,x])\nQ[c] = sum[n,x](X[n,c,x] * X[n,c,x])\n"
       "output M[c] = S[c] / 20\noutput V[c] = Q[c] / 20 - M[c] * M[c]\n"},
      {"outer_and_scalar",
       "input a: f32[5]\ninput b: f32[7]\ninput s: f32[]\noutput Y[i,j] = a[i] * b[j] + s[]\n"
       "output T[] = sum[i](a[i])\n"},
      {"products",
       "input X: f32[3,4]\noutput P[i] = prod[k](X[i,k] + 1.5)\noutput L[i] = min[k](X[i,k])\n"},
      {"reshape", "input X: f32[6,4]\noutput Y[i=8,j=3] = X[(i*3+j)/4, (i*3+j)%4] * 2\n"},
      {"residual_conv",
       "input X: f32[1,4,6,6]\nweight W: f32[4,4,3,3]\ninput R: f32[1,4,6,6]\n"
       "T[n,o,y=6,x=6] = sum[c,r,s](padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])\n"
       "output Y[n,o,y,x] = relu(T[n,o,y,x] + R[n,o,y,x])\n"},
      {"dilated",
       "input X: f32[2,17]\nweight W: f32[3,2,3]\noutput Y[o,x=13] = sum[c,r](X[c,x+2*r] * W[o,c,r])\n"},
  };
  return kSamples;
}

}  // namespace kindred
