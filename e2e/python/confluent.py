# confluent-kafka (librdkafka) for client.ts and python.stores.test.ts: lines of JSON in, lines of JSON out.
#
#   confluent.py produce ADDRESS TOPIC [NAME=VALUE ...]                records on standard input
#   confluent.py consume ADDRESS TOPIC GROUP COUNT [NAME=VALUE ...]    records on standard output
#   confluent.py member  ADDRESS TOPIC GROUP [NAME=VALUE ...]          the events of a member, until input ends
#
#   confluent.py load    ADDRESS TOPIC PARTITIONS FIRST [NAME=VALUE ...]
#                                                       sends FIRST, FIRST + 1, ... until input ends; one line for each
#
# NAME=VALUE are settings of librdkafka; `load` also takes records.per.second and value.bytes.
# `member` prints {"assigned": [...]}, {"revoked": [...]}, {"record": ...}.
# `load` prints {"value", "partition", "begun", "ended", "offset" or "error"}, times in ns of CLOCK_MONOTONIC.

import base64
import ctypes
import itertools
import json
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, Producer
from token_login import fetch_token


def to_bytes(text):
    return None if text is None else base64.b64decode(text)


def to_text(data):
    return None if data is None else base64.b64encode(data).decode()


def settings(pairs):
    chosen = dict(pair.split('=', 1) for pair in pairs)
    # Debian builds librdkafka without libcurl, so it cannot fetch tokens itself.
    if chosen.pop('sasl.oauthbearer.method', None) == 'oidc':
        names = ('token.endpoint.url', 'client.id', 'client.secret', 'scope')
        login = [chosen.pop('sasl.oauthbearer.' + name) for name in names]
        chosen['oauth_cb'] = lambda _: fetch_token(*login)
    return chosen


def say(value):
    print(json.dumps(value), flush=True)


def produce(address, topic, *pairs):
    failures = []

    def failed(error):
        # librdkafka would try again until the records time out.
        if error.code() == KafkaError._AUTHENTICATION:
            sys.exit(str(error))

    def delivered(error, message):
        if error is not None:
            failures.append(str(error))

    records = [json.loads(line) for line in sys.stdin]
    for codec, run in itertools.groupby(records, lambda record: record['codec']):
        producer = Producer({
            'bootstrap.servers': address,
            'acks': 'all',
            'linger.ms': 5,
            'message.max.bytes': 1000000,
            'compression.type': codec,
            'error_cb': failed,
            **settings(pairs),
        })
        for record in run:
            while True:
                try:
                    producer.produce(
                        topic,
                        key=to_bytes(record['key']),
                        value=to_bytes(record['value']),
                        partition=record['partition'],
                        timestamp=record['timestamp'],
                        headers=[(name, to_bytes(value)) for name, value in record['headers']],
                        on_delivery=delivered,
                    )
                    break
                except BufferError:
                    producer.poll(0.05)
            producer.poll(0)
        if producer.flush(60) > 0:
            sys.exit('not everything was delivered')
    if failures:
        sys.exit('%d records were not delivered, the first because: %s' % (len(failures), failures[0]))


def open_consumer(address, group, pairs):
    return Consumer({
        'bootstrap.servers': address,
        'group.id': group,
        'auto.offset.reset': 'earliest',
        'heartbeat.interval.ms': 500,
        'fetch.wait.max.ms': 200,
        **settings(pairs),
    })


def receive(consumer):
    message = consumer.poll(0.2)
    if message is None:
        return None
    if message.error():
        # A topic may be created by the producer after the consumer asked for it.
        if message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        sys.exit(str(message.error()))
    headers = message.headers() or []
    # confluent-kafka 1.7 does not count its reference to None for a header without a value, so None would be freed.
    for _, value in headers:
        if value is None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    return {
        'partition': message.partition(),
        'offset': message.offset(),
        'timestamp': message.timestamp()[1],
        'key': to_text(message.key()),
        'value': to_text(message.value()),
        'headers': [[name, to_text(value)] for name, value in headers],
    }


def consume(address, topic, group, count, *pairs):
    consumer = open_consumer(address, group, pairs)
    consumer.subscribe([topic])
    left = int(count)
    while left > 0:
        record = receive(consumer)
        if record is not None:
            print(json.dumps(record))
            left -= 1
    consumer.close()


def member(address, topic, group, *pairs):
    consumer = open_consumer(address, group, pairs)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    consumer.subscribe(
        [topic],
        on_assign=lambda _, partitions: say({'assigned': [p.partition for p in partitions]}),
        on_revoke=lambda _, partitions: say({'revoked': [p.partition for p in partitions]}),
    )
    while not ended.is_set():
        record = receive(consumer)
        if record is not None:
            say({'record': record})
    consumer.close()
    say({'closed': True})


def load(address, topic, partitions, first, *pairs):
    chosen = settings(pairs)
    per_second = float(chosen.pop('records.per.second', 'inf'))
    value_bytes = int(chosen.pop('value.bytes', '0'))
    producer = Producer({
        'bootstrap.servers': address,
        'acks': 'all',
        'linger.ms': 2,
        # The producer never gives up: it delivers every record that it accepted.
        'message.timeout.ms': 0,
        'reconnect.backoff.max.ms': 200,
        **chosen,
    })
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()

    def report(value, begun):
        def delivered(error, message):
            line = {'value': value, 'partition': message.partition(), 'begun': begun, 'ended': time.monotonic_ns()}
            say({**line, 'offset': message.offset()} if error is None else {**line, 'error': str(error)})
        return delivered

    value = int(first)
    started = time.monotonic()
    while not ended.is_set():
        if value - int(first) > per_second * (time.monotonic() - started):
            producer.poll(0.005)
            continue
        try:
            producer.produce(
                topic,
                value=str(value).ljust(value_bytes),
                partition=value % int(partitions),
                on_delivery=report(value, time.monotonic_ns()),
            )
            value += 1
        except BufferError:
            pass
        producer.poll(0.001)
    if producer.flush(60) > 0:
        sys.exit('not everything was delivered')


{'produce': produce, 'consume': consume, 'member': member, 'load': load}[sys.argv[1]](*sys.argv[2:])
