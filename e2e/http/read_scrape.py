# The reference reader of Prometheus for the tests of scrape.test.ts: a scrape on standard input, its samples as lines of JSON on
# standard output, [family, name, labels, value]. Ends with an error where the text is not what its format says.
#
#   read_scrape.py openmetrics | text

import json
import sys

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

read = {"openmetrics": openmetrics, "text": parser}[sys.argv[1]].text_string_to_metric_families
for family in read(sys.stdin.buffer.read().decode("utf-8")):
    print(json.dumps([family.name, None, None, None]))
    for sample in family.samples:
        print(json.dumps([family.name, sample.name, sample.labels, str(sample.value)]))
