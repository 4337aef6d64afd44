// Reads a topic from its beginning with Kafka's Java client, once for each line of standard input, up to the end that
// the topic has then. A record is one line: partition, offset, key, and the number and the length of the value, or - and
// -1 for a tombstone. `end` follows the last one. Any error of the client ends the program.
//
//   Reader ADDRESS TOPIC PARTITIONS

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Reader {
    public static void main(String[] args) throws Exception {
        Properties configs = new Properties();
        configs.put("bootstrap.servers", args[0]);
        configs.put("enable.auto.commit", "false");
        configs.put("auto.offset.reset", "none");
        // Small fetches, so that the cleaner works between two of them.
        configs.put("max.partition.fetch.bytes", "65536");
        List<TopicPartition> partitions = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[2]); i++) partitions.add(new TopicPartition(args[1], i));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaConsumer<String, String> consumer =
                 new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(partitions);
            while (in.readLine() != null) {
                Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
                for (TopicPartition each : partitions) consumer.seek(each, 0);
                while (partitions.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                        String value = record.value();
                        out.println(record.partition() + " " + record.offset() + " " + record.key() + " "
                            + (value == null ? "- -1" : value.substring(0, value.indexOf(':')) + " " + value.length()));
                    }
                }
                out.println("end");
                out.flush();
            }
        }
    }
}
