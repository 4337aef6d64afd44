# kafka-python for client.ts: lines of JSON in, lines of JSON out.
#
#   kafka_python.py produce ADDRESS TOPIC [NAME=VALUE ...]              records on standard input
#   kafka_python.py consume ADDRESS TOPIC GROUP COUNT [NAME=VALUE ...]  records on standard output
#
# NAME=VALUE are arguments of kafka-python that take text; and token_endpoint, client_id, client_secret and scope for
# OAUTHBEARER.

import base64
import itertools
import json
import sys

from kafka import KafkaConsumer, KafkaProducer
from kafka.oauth import AbstractTokenProvider
from token_login import fetch_token


# How long it tries to reach a broker, in ms. Its default of two seconds is too short for a busy machine.
LOOK_MS = 30000


def to_bytes(text):
    return None if text is None else base64.b64decode(text)


def to_text(data):
    return None if data is None else base64.b64encode(data).decode()


class TokenProvider(AbstractTokenProvider):
    def __init__(self, *login):
        super().__init__()
        self.login = login

    def token(self):
        return fetch_token(*self.login)[0]


def settings(pairs):
    chosen = dict(pair.split('=', 1) for pair in pairs)
    if 'token_endpoint' in chosen:
        login = [chosen.pop(name) for name in ('token_endpoint', 'client_id', 'client_secret', 'scope')]
        chosen['sasl_oauth_token_provider'] = TokenProvider(*login)
    return chosen


def produce(address, topic, *pairs):
    # Without api_version it requests ApiVersions 0 and, before the response, Metadata 0 on the same connection.
    records = [json.loads(line) for line in sys.stdin]
    for codec, run in itertools.groupby(records, lambda record: record['codec']):
        producer = KafkaProducer(
            bootstrap_servers=address,
            acks='all',
            # A broker of a cluster may hear of a new topic a moment after the client.
            retries=3,
            linger_ms=5,
            max_in_flight_requests_per_connection=1,
            compression_type=None if codec == 'none' else codec,
            api_version_auto_timeout_ms=LOOK_MS,
            **settings(pairs),
        )
        sent = []
        for record in run:
            sent.append(producer.send(
                topic,
                key=to_bytes(record['key']),
                value=to_bytes(record['value']),
                partition=record['partition'],
                timestamp_ms=record['timestamp'],
                headers=[(name, to_bytes(value)) for name, value in record['headers']],
            ))
        for future in sent:
            future.get(timeout=30)
        producer.close()


def consume(address, topic, group, count, *pairs):
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset='earliest',
        enable_auto_commit=True,
        heartbeat_interval_ms=500,
        api_version_auto_timeout_ms=LOOK_MS,
        **settings(pairs),
    )
    left = int(count)
    while left > 0:
        for partition, records in consumer.poll(timeout_ms=500).items():
            for record in records:
                print(json.dumps({
                    'partition': partition.partition,
                    'offset': record.offset,
                    'timestamp': record.timestamp,
                    'key': to_text(record.key),
                    'value': to_text(record.value),
                    'headers': [[name, to_text(value)] for name, value in record.headers],
                }))
                left -= 1
    consumer.close(autocommit=True)


{'produce': produce, 'consume': consume}[sys.argv[1]](*sys.argv[2:])
