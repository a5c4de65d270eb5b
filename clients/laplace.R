# Protocol 1 of dpwitness in R 4 or later, base R alone: a sum with Laplace noise of scale 1.
#
#   dpwitness audit --command 'Rscript laplace.R' --epsilon 1 --pair '[0]' '[0, 1]'
#
# Replace draw, which returns `size` numbers; the rest is the protocol (docs/protocol.md). A library
# that draws randomness of its own says "seeded": false below.

draw <- function(database, size) {
  u <- runif(size)
  sum(database) + ifelse(u < 0.5, log(2 * u), -log(2 - 2 * u))
}

field <- function(line, name) {
  as.numeric(sub(paste0('.*"', name, '":([0-9]+).*'), "\\1", line))
}

# A list of numbers, or one number. Requests have no spaces, and "database" comes last.
database_of <- function(line) {
  text <- gsub("[][}]", "", sub('.*"database":', "", line))
  if (text == "") numeric(0) else as.numeric(strsplit(text, ",")[[1]])
}

# All digits, as JSON: NaN and the infinities are objects there.
written <- function(values) {
  text <- formatC(values, digits = 17, format = "g", width = 1)
  special <- !is.finite(values)
  names <- c(`NaN` = "nan", `Inf` = "inf", `-Inf` = "-inf", `NA` = "nan")
  text[special] <- sprintf('{"$float": "%s"}', names[as.character(values[special])])
  text
}

answer <- function(line) {
  id <- field(line, "id")
  # set.seed takes 31 bits, so the two halves of the seed are put together by the first draws.
  seed <- field(line, "seed")
  set.seed(seed %% 2147483647)
  set.seed(bitwXor(sample.int(.Machine$integer.max, 1), as.integer(seed %/% 2147483647)))
  tryCatch({
    outputs <- written(draw(database_of(line), field(line, "size")))
    c(sprintf('{"id": %.0f, "lines": %d}', id, length(outputs)), outputs)
  }, error = function(problem) {
    sprintf('{"id": %.0f, "error": %s}', id, encodeString(conditionMessage(problem), quote = '"'))
  })
}

input <- file("stdin", "r")
invisible(readLines(input, 1)) # {"dpwitness":1}
cat('{"dpwitness": 1, "name": "laplace in R"}\n')
while (length(line <- readLines(input, 1)) > 0) {
  cat(answer(line), sep = "\n")
  flush(stdout())
}
