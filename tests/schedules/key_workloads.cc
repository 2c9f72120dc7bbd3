#include "tests/schedules/key_workloads.h"

namespace kindred {
namespace {

std::vector<SampleWorkload> Make() {
  std::vector<SampleWorkload> all = SmallWorkloads();
  const std::vector<SampleWorkload> more = {
      {"linear_two_epilogues",
       "input X: f32[4,6]\nweight W: f32[6,5]\nweight b: f32[5]\ninput R: f32[4,5]\n"
       "T[m,n] = sum[k](X[m,k] * W[k,n])\nU[m,n] = T[m,n] + b[n]\n"
       "output Y[m,n] = relu(U[m,n]) + R[m,n]\noutput Z[m,n] = U[m,n] * 0.5\n"},
      {"linear_f64_accumulator",
       "input X: f32[4,6]\nweight W: f32[6,5]\noutput Y: f32[m,n] = sum<f64>[k](X[m,k] * W[k,n])\n"},
      {"conv_stride_dilation",
       "input X: f32[1,2,11,11]\nweight W: f32[3,2,3,3]\n"
       "output Y[n,o,y=4,x=4] = sum[c,r,s](padded(X[n, c, 2*y+2*r-1, 2*x+2*s-1], 0) * W[o,c,r,s])\n"},
      {"conv_asymmetric",
       "input X: f32[1,2,7,6]\nweight W: f32[3,2,2,3]\n"
       "output Y[n,o,y=7,x=3] = sum[c,r,s](padded(X[n, c, y+r, 2*x+s-1], 0) * W[o,c,r,s])\n"},
      {"conv_nhwc",
       "input X: f32[1,6,5,3]\nweight W: f32[3,3,3,4]\nweight b: f32[4]\n"
       "T[n,y=6,x=5,o] = sum[r,s,c](padded(X[n, y+r-1, x+s-1, c], 0) * W[r,s,c,o])\n"
       "output Y[n,y,x,o] = clip(T[n,y,x,o] + b[o], 0, 6)\n"},
      {"conv_groups_explicit",
       "input X: f32[2,3,5,5]\nweight W: f32[2,4,3,2,2]\n"
       "output Y[g,o,y=4,x=4] = sum[c,r,s](X[g,c,y+r,x+s] * W[g,o,c,r,s])\n"},
      {"conv_1d_silu",
       "input X: f32[2,3,12]\nweight W: f32[4,3,3]\n"
       "T[n,o,x=5] = sum[c,r](padded(X[n,c,2*x+r-1], 0) * W[o,c,r])\n"
       "output Y[n,o,x] = silu(T[n,o,x])\n"},
      {"depthwise_stride_2",
       "input X: f32[1,4,9,9]\nweight W: f32[4,1,3,3]\n"
       "output Y[n,c,y=5,x=5] = sum[r,s](padded(X[n, c, 2*y+r-1, 2*x+s-1], 0) * W[c,0,r,s])\n"},
      {"transposed_conv",
       "input X: f32[2,5]\nweight W: f32[2,3,4]\n"
       "output Y[o,x=12] = sum[c,r](select((x - r) % 2 == 0, padded(X[c,(x-r)/2], 0), 0) * W[c,o,r])\n"},
      {"padded_average_pool",
       "input X: f32[1,2,6,6]\n"
       "S[n,c,y=3,x=3] = sum[r=3,s=3](padded(X[n, c, 2*y+r-1, 2*x+s-1], 0))\n"
       "output Y[n,c,y,x] = S[n,c,y,x] * 0.1111111\n"},
      {"masked_attention",
       "input Q: f32[5,4]\ninput K: f32[5,4]\ninput V: f32[5,3]\n"
       "S[i,j] = sum[d](Q[i,d] * K[j,d])\nP[i,j] = select(j <= i, S[i,j] * 0.5, -inf)\n"
       "M[i] = max[j](P[i,j])\nE[i,j] = exp(P[i,j] - M[i])\nZ[i] = sum[j](E[i,j])\n"
       "O[i,d] = sum[j](E[i,j] * V[j,d])\noutput Y[i,d] = O[i,d] / Z[i]\n"},
      {"rotary",
       "input X: f32[5,6]\ninput C: f32[5,3]\ninput S: f32[5,3]\n"
       "output Y[t,f=6] = X[t,f] * C[t,f/2] + select(f % 2 == 0, -padded(X[t,f+1], 0), padded(X[t,f-1], 0)) * "
       "S[t,f/2]\n"},
      {"swiglu",
       "input X: f32[3,5]\nweight A: f32[5,4]\nweight B: f32[5,4]\n"
       "G[m,n] = sum[k](X[m,k] * A[k,n])\nU[m,n] = sum[k](X[m,k] * B[k,n])\n"
       "output Y[m,n] = silu(G[m,n]) * U[m,n]\n"},
      {"group_norm",
       "input X: f32[2,6,7]\nweight g: f32[6]\nS[n,q=2] = sum[c=3,x=7](X[n,3*q+c,x])\n"
       "Q[n,q=2] = sum[c=3,x=7](X[n,3*q+c,x] * X[n,3*q+c,x])\n"
       "output Y[n,c,x] = (X[n,c,x] - S[n,c/3] / 21) * rsqrt(Q[n,c/3] / 21 + 1e-5) * g[c]\n"},
      {"variance_f16",
       "input X: f16[4,9]\nS[i] = sum[k](X[i,k])\noutput M: f16[i] = S[i] / 9\n"
       "output V: f16[i] = sum[k](X[i,k] * X[i,k]) / 9 - S[i] * S[i] / 81\n"},
      {"embedding_sum",
       "input J: i64[3,4] data index(0, 7)\nweight E: f32[7,5]\noutput Y[b,f] = sum[t](E[J[b,t],f])\n"},
      {"scatter_like_gather",
       "input J: i32[6]\ninput K: i32[6]\ninput D: f32[5,4]\noutput Y[p] = D[J[p],K[p]]\n"},
      {"concat_three",
       "input A: f32[2,3]\ninput B: f32[4,3]\ninput C: f32[5,3]\n"
       "output Y[r=11,c] = select(r < 2, A[r,c], select(r < 6, B[r-2,c], C[r-6,c]))\n"},
      {"pad_and_slice",
       "input X: f32[5,6]\nP[i=9,j=8] = padded(X[i-2,j-1], 0.5)\n"
       "output Y[i=4,j] = P[2*i+1,j]\n"},
      {"i8_conv_i32",
       "input X: i8[1,3,6,6]\nweight W: i8[4,3,3,3]\nweight b: i32[4]\n"
       "T[n,o,y=4,x=4] = sum[c,r,s](X[n,c,y+r,x+s] * W[o,c,r,s])\n"
       "output Y: i8[n,o,y,x] = i8(clip(f32(T[n,o,y,x] + b[o]) * 0.25, -128, 127))\n"},
      {"quantised_matmul",
       "input X: u8[4,6]\nweight W: i8[6,5]\nweight s: f32[5]\n"
       "T[m,n] = sum[k]((i32(X[m,k]) - 128) * i32(W[k,n]))\noutput Y[m,n] = f32(T[m,n]) * s[n]\n"},
      {"argmax_of_matmul",
       "input X: f32[4,6]\nweight W: f32[6,9]\nT[m,n] = sum[k](X[m,k] * W[k,n])\n"
       "output I: i32[m] = argmax[n](T[m,n])\noutput B[m] = max[n](T[m,n])\n"},
      {"symbolic_matmul",
       "symbol seq in 1..8, likely 5 3\ninput X: f32[seq,6]\nweight W: f32[6,4]\nweight b: f32[4]\n"
       "T[m,n] = sum[k](X[m,k] * W[k,n])\noutput Y[m,n] = tanh(T[m,n] + b[n])\n"},
      {"symbolic_softmax",
       "symbol rows in 1..9, likely 4\nsymbol columns in 2..7\ninput X: f32[rows,columns]\n"
       "E[i,j] = exp(X[i,j] - max[k](X[i,k]))\noutput Y[i,j] = E[i,j] / sum[k](E[i,k])\n"},
      {"symbolic_reverse",
       "symbol n in 1..6\ninput X: f32[n,3]\noutput Y[i=n,c] = X[n-1-i,c] * 2\n"},
      {"contract",
       "allow tf32, winograd\ninput X: f32[4,7]\nweight W: f32[7,5]\n"
       "output Y[m,n] = sum[k](X[m,k] * W[k,n])\n"},
      {"sparse_data",
       "input X: f32[6,8] data normal(0, 1) density 0.2\nweight W: f32[8,3]\n"
       "input M: bool[6,3] data mask(0.5)\nT[m,n] = sum[k](X[m,k] * W[k,n])\n"
       "output Y[m,n] = select(M[m,n], T[m,n], 0)\n"},
      {"three_operands",
       "input A: f32[3,4]\ninput B: f32[4,5]\ninput C: f32[5,2]\n"
       "output Y[i,l] = sum[j,k](A[i,j] * B[j,k] * C[k,l])\n"},
      {"self_product", "input X: f32[5,4]\noutput Y[i,j] = sum[k](X[i,k] * X[j,k])\n"},
      {"outputs_of_each_other",
       "input X: f32[4,5]\noutput S[i] = sum[k](X[i,k])\noutput Y[i,k] = X[i,k] - S[i]\n"
       "output Z[i] = max[k](Y[i,k])\n"},
      {"diamond",
       "input X: f32[6]\ninput Y: f32[6]\nA[i] = exp(X[i])\nB[i] = A[i] + Y[i]\nC[i] = A[i] * Y[i]\n"
       "output D[i] = B[i] / C[i]\n"},
      {"comparisons",
       "input X: f32[7]\ninput Y: f32[7]\n"
       "output A[i] = select(X[i] < Y[i] and not X[i] == 0, X[i], Y[i] + 1)\n"
       "output B: u8[i] = u8(X[i] <= 0.25 or Y[i] != X[i])\n"},
      {"casts_between",
       "input X: f16[8]\ninput I: i8[8]\noutput Y: bf16[i] = f32(I[i]) * X[i]\n"
       "output Z: i64[i] = i64(X[i] * 100) / 7\noutput B: bool[i] = I[i] > 3\n"},
      {"scale_relu_pool",
       "input X: f32[2,3,4,5]\nweight g: f32[3]\nweight b: f32[3]\n"
       "N[n,c,y,x] = X[n,c,y,x] * g[c] + b[c]\nR[n,c,y,x] = relu(N[n,c,y,x])\n"
       "S[n,c] = sum[y,x](R[n,c,y,x])\noutput Y[n,c] = S[n,c] / 20\n"},
      {"pointwise_chain",
       "input X: f32[4,6]\ninput Y: f32[4,6]\nA[i,j] = X[i,j] * Y[i,j]\nB[i,j] = tanh(A[i,j])\n"
       "C[i,j] = B[i,j] + X[i,j]\noutput Z[j,i] = exp(C[i,j])\n"},
      {"narrow_between",
       "input X: f32[4,6]\nweight W: f16[6]\nH: f16[i,j] = X[i,j] * 3\nT[i,j] = H[i,j] * W[j]\n"
       "output Y[i] = sum[j](T[i,j])\n"},
      {"integer_chain",
       "input X: i8[9]\ninput Y: u8[9]\nA: i8[i] = X[i] * 5 + 1\nB[i] = A[i] - Y[i]\n"
       "output Z[i] = B[i] / 4\n"},
      {"l2_distance",
       "input X: f32[4,6]\ninput C: f32[3,6]\nD[i,j,k] = X[i,k] - C[j,k]\n"
       "output Y[i,j] = sum[k](D[i,j,k] * D[i,j,k])\noutput N: i32[i] = argmin[j](Y[i,j])\n"},
      {"upsample", "input X: f32[2,3,4]\noutput Y[c,y=6,x=8] = X[c,y/2,x/2] * 0.5\n"},
  };
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

const std::vector<SampleWorkload>& KeyWorkloads() {
  static const std::vector<SampleWorkload> kAll = Make();
  return kAll;
}

}  // namespace kindred
