# Reads a scrape with the reference parser of Prometheus, for scrape.longer.test.ts: the scrape is on standard input, its
# samples are lines of JSON on standard output, [family, name, labels, value]. Fails if the scrape violates its format.
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
