# Does with confluent-kafka (librdkafka) what Reader.java does with the Java client. Any error that the client reports
# ends the program with a status other than 0.
#
#   reader.py ADDRESS TOPIC PARTITIONS

import sys

from confluent_kafka import Consumer, TopicPartition


def main(address, topic, partitions):
    errors = []
    consumer = Consumer({
        "bootstrap.servers": address,
        "group.id": "reader",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        # Small fetches, so that the cleaner works between two of them.
        "fetch.message.max.bytes": 65536,
        "error_cb": errors.append,
    })
    for _ in sys.stdin:
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, i))[1] for i in range(partitions)]
        consumer.assign([TopicPartition(topic, i, 0) for i in range(partitions)])
        positions = [0] * partitions
        while any(position < end for position, end in zip(positions, ends)):
            for message in consumer.consume(500, 0.2):
                if message.error():
                    raise RuntimeError(message.error())
                value = message.value()
                shown = "- -1" if value is None else f"{value[:value.index(b':')].decode()} {len(value)}"
                print(message.partition(), message.offset(), message.key().decode(), shown)
                positions[message.partition()] = message.offset() + 1
            if errors:
                raise RuntimeError(errors)
        print("end", flush=True)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
