#!/bin/bash
# quorumd links the release flavour: no planted bug is in it. A program that links the other flavour
# shows that the search would find one.
set -euo pipefail

quorumd="$1"
probe="$2"
symbol=6quorum6plants

grep -qa "${symbol}" "${probe}" || {
  echo "the probe has no symbol ${symbol}: this test looks for the wrong thing" >&2
  exit 1
}
if grep -qa "${symbol}" "${quorumd}"; then
  echo "quorumd holds planted bugs" >&2
  exit 1
fi
