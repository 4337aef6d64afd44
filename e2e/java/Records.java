// Produces and consumes with Kafka's Java client, in the version that is on the class path, for records.ts. A record
// is one line: partition, timestamp, codec (produced) or offset (consumed), key, value and headers (a name, a space, a
// value), with tabs between them. Names and bytes are in base64; - is null.
//
//   Records produce FILE ADDRESS TOPIC               records on standard input
//   Records consume FILE ADDRESS TOPIC GROUP COUNT   records on standard output
//   Records load    FILE ADDRESS TOPIC PARTITIONS RATE
//                                                    sends 0, 1, ... at RATE records a second until input ends
//
// FILE has properties of the client. `load` prints a line for each record: the value, and the error if there is one;
// and once a second, how often it has authenticated again on an open connection (KIP-368), as `again COUNT`.

import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Records {
    public static void main(String[] args) throws Exception {
        Properties configs = new Properties();
        try (FileReader file = new FileReader(args[1])) {
            configs.load(file);
        }
        configs.put("bootstrap.servers", args[2]);
        if (args[0].equals("produce")) produce(configs, args[3]);
        else if (args[0].equals("load")) load(configs, args[3], Integer.parseInt(args[4]), Integer.parseInt(args[5]));
        else consume(configs, args[3], args[4], Integer.parseInt(args[5]));
    }

    private static void produce(Properties configs, String topic) throws Exception {
        configs.put("acks", "all");
        configs.put("linger.ms", "5");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        KafkaProducer<byte[], byte[]> producer = null;
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        String codec = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            if (!parts[2].equals(codec)) {
                if (producer != null) producer.close();
                codec = parts[2];
                configs.put("compression.type", codec);
                producer = new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
            }
            ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                topic, Integer.valueOf(parts[0]), Long.valueOf(parts[1]), bytes(parts[3]), bytes(parts[4]));
            for (int i = 5; i < parts.length; i++) {
                String[] header = parts[i].split(" ");
                record.headers().add(new String(bytes(header[0]), "UTF-8"), bytes(header[1]));
            }
            sent.add(producer.send(record));
        }
        if (producer != null) producer.close();
        for (Future<RecordMetadata> each : sent) each.get();
    }

    private static void load(Properties configs, String topic, int partitions, int rate) throws Exception {
        configs.put("acks", "all");
        configs.put("linger.ms", "2");
        configs.put("reconnect.backoff.max.ms", "200");
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
        long started = System.nanoTime();
        for (int value = 0; System.in.available() == 0; ) {
            if (value > rate * (System.nanoTime() - started) / 1e9) {
                Thread.sleep(2);
                continue;
            }
            if (value % rate == 0) {
                synchronized (System.out) {
                    System.out.println("again " + reauthentications(producer));
                }
            }
            String text = String.valueOf(value++);
            producer.send(
                new ProducerRecord<>(topic, Integer.parseInt(text) % partitions, null, text.getBytes("UTF-8")),
                (metadata, error) -> {
                    synchronized (System.out) {
                        System.out.println(error == null ? text : text + " " + error);
                    }
                });
        }
        producer.close();
    }

    private static long reauthentications(KafkaProducer<byte[], byte[]> producer) {
        return (long) producer.metrics().entrySet().stream()
            .filter(entry -> entry.getKey().name().equals("successful-reauthentication-total"))
            .mapToDouble(entry -> (Double) entry.getValue().metricValue()).sum();
    }

    private static void consume(Properties configs, String topic, String group, int count) throws Exception {
        configs.put("group.id", group);
        configs.put("auto.offset.reset", "earliest");
        configs.put("enable.auto.commit", "false");
        configs.put("heartbeat.interval.ms", "500");
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            for (int seen = 0; seen < count; ) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    seen++;
                    StringBuilder line = new StringBuilder();
                    line.append(record.partition()).append('\t').append(record.timestamp()).append('\t')
                        .append(record.offset()).append('\t').append(text(record.key())).append('\t')
                        .append(text(record.value()));
                    for (Header header : record.headers())
                        line.append('\t').append(text(header.key().getBytes("UTF-8"))).append(' ')
                            .append(text(header.value()));
                    out.println(line);
                }
            }
            consumer.commitSync();
        }
        out.flush();
    }

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : Base64.getDecoder().decode(text);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
    }
}
