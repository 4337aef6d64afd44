// Reads a topic with Kafka's Java client as its standard input says, a line at a time, and prints records as
// seekers.ts reads them: partition, offset, timestamp, and the SHA-1 of key, value and headers. `end` follows the last
// one. Any error of the client ends the program.
//
//   Seeker ADDRESS TOPIC
//     read GROUP COUNT        reads as a member of the group, committed records only, and commits what it has read
//     seek PARTITION OFFSET   the first record from the offset on

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Seeker {
    private static PrintStream out;

    public static void main(String[] args) throws Exception {
        out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaConsumer<byte[], byte[]> consumer = open(args[0], null)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("read")) read(args[0], args[1], words[1], Integer.parseInt(words[2]));
                else seek(consumer, new TopicPartition(args[1], Integer.parseInt(words[1])), Long.parseLong(words[2]));
                out.println("end");
                out.flush();
            }
        }
    }

    private static KafkaConsumer<byte[], byte[]> open(String address, String group) {
        Properties configs = new Properties();
        configs.put("bootstrap.servers", address);
        configs.put("enable.auto.commit", "false");
        configs.put("isolation.level", "read_committed");
        configs.put("auto.offset.reset", group == null ? "none" : "earliest");
        configs.put("max.partition.fetch.bytes", "65536");
        if (group != null) configs.put("group.id", group);
        return new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static void read(String address, String topic, String group, int count) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = open(address, group)) {
            consumer.subscribe(List.of(topic));
            Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
            for (int seen = 0; seen < count; ) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    if (seen++ == count) break;
                    print(record);
                    positions.put(
                        new TopicPartition(topic, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
            }
            consumer.commitSync(positions);
        }
    }

    private static void seek(KafkaConsumer<byte[], byte[]> consumer, TopicPartition place, long offset)
            throws Exception {
        consumer.assign(List.of(place));
        consumer.seek(place, offset);
        for (;;) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                print(record);
                return;
            }
        }
    }

    private static void print(ConsumerRecord<byte[], byte[]> record) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream parts = new DataOutputStream(bytes);
        put(parts, record.key());
        put(parts, record.value());
        for (Header header : record.headers()) {
            put(parts, header.key().getBytes("UTF-8"));
            put(parts, header.value());
        }
        byte[] digest = MessageDigest.getInstance("SHA-1").digest(bytes.toByteArray());
        out.println(record.partition() + " " + record.offset() + " " + record.timestamp() + " "
            + String.format("%040x", new BigInteger(1, digest)));
    }

    private static void put(DataOutputStream parts, byte[] bytes) throws Exception {
        parts.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) parts.write(bytes);
    }
}
