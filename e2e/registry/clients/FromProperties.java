// Sends one order with the settings of a properties file, as a Java program that has no other settings.
//
//   FromProperties.java FILE TOPIC ID

import java.io.FileReader;
import java.util.Properties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

public class FromProperties {
  public static void main(String[] args) throws Exception {
    var settings = new Properties();
    settings.load(new FileReader(args[0]));
    String text = "{\"type\":\"record\",\"name\":\"Order\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}";
    var order = new GenericRecordBuilder(new Schema.Parser().parse(text)).set("id", Long.parseLong(args[2])).build();
    try (var producer = new KafkaProducer<String, Object>(settings)) {
      producer.send(new ProducerRecord<>(args[1], order)).get();
    }
  }
}
