// Sends the values of a file, one line of base64 each, with Kafka's idempotent Java producer, five requests in flight
// and one record in most batches. Prints a line for each: its number, and `ok` or the exception and its message.
//
//   Judged ADDRESS TOPIC FILE BATCH_SIZE

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Judged {
    public static void main(String[] args) throws Exception {
        Properties configs = new Properties();
        configs.put("bootstrap.servers", args[0]);
        configs.put("acks", "all");
        configs.put("enable.idempotence", "true");
        configs.put("max.in.flight.requests.per.connection", "5");
        configs.put("linger.ms", args[3].equals("1") ? "0" : "20");
        configs.put("batch.size", args[3]);
        configs.put("delivery.timeout.ms", "60000");
        configs.put("request.timeout.ms", "20000");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String line : Files.readAllLines(Path.of(args[2]))) {
                byte[] value = Base64.getDecoder().decode(line);
                sent.add(producer.send(new ProducerRecord<>(args[1], 0, null, value)));
            }
        }
        for (int i = 0; i < sent.size(); i++) {
            try {
                sent.get(i).get();
                System.out.println(i + " ok");
            } catch (ExecutionException e) {
                Throwable cause = e.getCause();
                System.out.println(i + " " + cause.getClass().getSimpleName() + " " + cause.getMessage());
            }
        }
    }
}
