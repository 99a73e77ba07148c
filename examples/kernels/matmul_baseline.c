// The product of matmul.loops for `dovetail kernel bench`: one pointer for each parameter, in the order of the program.
// cc -O3 -march=native -ffast-math -shared -fPIC -o libmatmul.so matmul_baseline.c
enum { M = 256, N = 256, K = 256 };

void matmul(const float* restrict x, const float* restrict w, float* restrict y) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int r = 0; r < K; ++r) sum += x[i * K + r] * w[j * K + r];
      y[i * N + j] = sum;
    }
}
