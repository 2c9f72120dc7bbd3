/* The sum of an array, in several accumulators. */
#ifndef accumulators
#define accumulators 4
#define block 1024
#define sum_type float
#endif

void reduction_reference(float *sum, const float *values, int count) {
  double total = 0;
  for (int i = 0; i < count; ++i) total += values[i];
  *sum = (float)total;
}

void reduction(float *sum, const float *values, int count) {
  double total = 0;
  for (int start = 0; start < count; start += block) {
    const int end = start + block < count ? start + block : count;
    sum_type parts[accumulators] = {0};
    int i = start;
    for (; i + accumulators <= end; i += accumulators)
      for (int a = 0; a < accumulators; ++a) parts[a] += values[i + a];
    for (; i < end; ++i) parts[0] += values[i];
    for (int a = 0; a < accumulators; ++a) total += parts[a];
  }
  *sum = (float)total;
}
