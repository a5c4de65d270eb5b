#!/bin/sh
# Protocol 1 of dpwitness in shell and awk: randomized response of one bit, 0 or 1, told truly
# with probability 3/4, which is epsilon ln 3.
#
#   dpwitness audit --command 'sh response.sh' --epsilon 1.0987 --pair 0 1
#
# Replace the awk program; the rest is the protocol (docs/protocol.md).

field() { # the number after "$1": in the request
  printf '%s\n' "$line" | sed "s/.*\"$1\":\([0-9]*\).*/\1/"
}

IFS= read -r line # {"dpwitness":1}
echo '{"dpwitness": 1, "name": "randomized response in shell"}'
while IFS= read -r line; do
  id=$(field id) size=$(field size)
  echo "{\"id\": $id, \"lines\": $size}"
  awk -v seed="$(field seed)" -v size="$size" -v bit="$(field database)" 'BEGIN {
    srand(seed % 2147483647)
    for (i = 0; i < size; i++) print (rand() < 0.75) ? bit : 1 - bit
  }'
done
