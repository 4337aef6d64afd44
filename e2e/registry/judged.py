# Sends the values of a file, one line of base64 each, with librdkafka's idempotent producer, five requests in flight and
# one record in each batch. Prints a line for each: its number, and `ok` or the name of the error.
#
#   judged.py ADDRESS TOPIC FILE

import base64
import sys

from confluent_kafka import Producer

address, topic, file = sys.argv[1:]
producer = Producer({
    'bootstrap.servers': address,
    'enable.idempotence': True,
    'batch.num.messages': 1,
    'linger.ms': 0,
    'max.in.flight': 5,
    'queue.buffering.max.messages': 100_000,
})
results = {}


def keep(number):
    def delivered(error, message):
        results[number] = 'ok' if error is None else error.name()

    return delivered


lines = open(file).read().split()
for number, line in enumerate(lines):
    producer.produce(topic, partition=0, value=base64.b64decode(line), on_delivery=keep(number))
    producer.poll(0)
producer.flush(60)
for number in range(len(lines)):
    print(number, results.get(number))
