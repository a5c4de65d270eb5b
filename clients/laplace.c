/* Protocol 1 of dpwitness in C99: the sum of a list of numbers with Laplace noise of scale 1.

   cc -O2 -o laplace laplace.c -lm
   dpwitness audit --command ./laplace --epsilon 1 --pair '[0]' '[0, 1]'

   Replace `draw`; the rest is the protocol (docs/protocol.md). */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SplitMix64 (Steele, Lea and Flood, 2014): all randomness follows from the seed of the request. */
static uint64_t state;

static double uniform(void) {
  uint64_t z = (state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53; /* in (0, 1) */
}

static double draw(const double *database, size_t records) {
  double sum = 0, u = uniform();
  for (size_t i = 0; i < records; i++) sum += database[i];
  return sum + (u < 0.5 ? log(2 * u) : -log(2 - 2 * u));
}

/* The number after "name": in the line; requests have no spaces and "database" comes last. */
static uint64_t field(const char *line, const char *name) {
  const char *place = strstr(line, name);
  return place ? strtoull(place + strlen(name), NULL, 10) : 0;
}

static size_t numbers(const char *text, double **into) {
  size_t count = 0;
  for (const char *at = text; *at;) {
    char *end;
    double value = strtod(at, &end);
    if (end == at) { at++; continue; }
    *into = realloc(*into, (count + 1) * sizeof **into);
    (*into)[count++] = value;
    at = end;
  }
  return count;
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  double *database = NULL, *outputs = NULL;
  if (getline(&line, &room, stdin) < 0) return 1; /* {"dpwitness":1} */
  puts("{\"dpwitness\": 1, \"name\": \"laplace in C\"}");
  fflush(stdout);
  while (getline(&line, &room, stdin) > 0) {
    unsigned long long id = field(line, "\"id\":"), size = field(line, "\"size\":");
    const char *data = strstr(line, "\"database\":");
    if (!data) return 1;
    state = field(line, "\"seed\":");
    size_t records = numbers(data + strlen("\"database\":"), &database);
    outputs = realloc(outputs, size * sizeof *outputs);
    for (size_t i = 0; i < size; i++) outputs[i] = draw(database, records);
    printf("{\"id\": %llu, \"dtype\": \"<f8\", \"shape\": [%llu]}\n", id, size);
    fwrite(outputs, sizeof *outputs, size, stdout); /* a little-endian machine */
    fflush(stdout);
  }
  return 0;
}
