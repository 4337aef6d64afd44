# Does with confluent-kafka (librdkafka) what Seeker.java does with the Java client. Any error that the client reports
# ends the program with a status other than 0.
#
#   seeker.py ADDRESS TOPIC

import ctypes
import hashlib
import struct
import sys

from confluent_kafka import Consumer, TopicPartition

errors = []


def open_consumer(address, group):
    return Consumer({
        'bootstrap.servers': address,
        'group.id': group,
        'enable.auto.commit': False,
        'isolation.level': 'read_committed',
        'auto.offset.reset': 'earliest' if group != 'none' else 'error',
        'fetch.message.max.bytes': 65536,
        'fetch.wait.max.ms': 200,
        'error_cb': errors.append,
    })


def put(data):
    return struct.pack('>i', -1) if data is None else struct.pack('>i', len(data)) + data


def receive(consumer):
    while True:
        message = consumer.poll(0.2)
        if errors:
            raise RuntimeError(errors)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(message.error())
        return message


def show(message):
    headers = message.headers() or []
    # confluent-kafka 1.7 does not count its reference to None for a header without a value, so None would be freed.
    for _, value in headers:
        if value is None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    parts = [put(message.key()), put(message.value())]
    for name, value in headers:
        parts += [put(name.encode()), put(value)]
    digest = hashlib.sha1(b''.join(parts)).hexdigest()
    print(message.partition(), message.offset(), message.timestamp()[1], digest)


def read(address, topic, group, count):
    consumer = open_consumer(address, group)
    consumer.subscribe([topic])
    positions = {}
    for _ in range(count):
        message = receive(consumer)
        show(message)
        positions[message.partition()] = message.offset() + 1
    offsets = [TopicPartition(topic, partition, offset) for partition, offset in positions.items()]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def main(address, topic):
    seeking = open_consumer(address, 'none')
    for line in sys.stdin:
        verb, first, second = line.split()
        if verb == 'read':
            read(address, topic, first, int(second))
        else:
            # An assignment to the offset is how librdkafka seeks before its first fetch.
            seeking.assign([TopicPartition(topic, int(first), int(second))])
            show(receive(seeking))
        print('end', flush=True)


main(sys.argv[1], sys.argv[2])
