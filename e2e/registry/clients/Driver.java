// Confluent's Avro serializers with Apache Kafka's client for driver.ts, which describes the requests. Both are in
// org.apache.pinot:pinot-confluent-avro, whose Jackson has a package of its own.

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.pinot.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.pinot.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.pinot.shaded.com.fasterxml.jackson.databind.node.ObjectNode;

public class Driver {
  static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      ObjectNode answer = JSON.createObjectNode().put("number", request.get("number").asInt());
      try {
        answer.set("done", JSON.valueToTree(done(request)));
      } catch (Exception cause) {
        answer.set("error", errorOf(cause));
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  static Object done(JsonNode request) throws Exception {
    switch (request.get("verb").asText()) {
      case "produce":
        return produce(request);
      case "consume":
        return consume(request);
      case "register":
        String url = request.get("registry").get("url").asText();
        try (var client = new CachedSchemaRegistryClient(url, 10, registrySettings(request))) {
          return client.register(request.get("subject").asText(), new AvroSchema(text(request)));
        }
      case "send":
        return sendRaw(request);
      default:
        throw new IllegalArgumentException(request.get("verb").asText());
    }
  }

  static Map<String, Object> registrySettings(JsonNode request) {
    JsonNode registry = request.get("registry");
    var settings = new HashMap<String, Object>();
    settings.put("max.retries", 0);
    settings.put("schema.registry.url", registry.get("url").asText());
    if (registry.hasNonNull("username")) {
      settings.put("basic.auth.credentials.source", "USER_INFO");
      String user = registry.get("username").asText() + ":" + registry.get("password").asText();
      settings.put("basic.auth.user.info", user);
    }
    if (registry.hasNonNull("ca")) {
      settings.put("schema.registry.ssl.truststore.type", "PEM");
      settings.put("schema.registry.ssl.truststore.location", registry.get("ca").asText());
    }
    return settings;
  }

  static Map<String, Object> kafkaSettings(JsonNode request) {
    JsonNode kafka = request.get("kafka");
    var settings = new HashMap<String, Object>();
    settings.put("bootstrap.servers", kafka.get("address").asText());
    if (kafka.hasNonNull("username")) {
      settings.put("security.protocol", "SASL_PLAINTEXT");
      settings.put("sasl.mechanism", "SCRAM-SHA-256");
      settings.put(
          "sasl.jaas.config",
          String.format(
              "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"%s\" password=\"%s\";",
              kafka.get("username").asText(), kafka.get("password").asText()));
    }
    return settings;
  }

  static String text(JsonNode request) {
    return request.get("schema").get("text").asText();
  }

  static Object produce(JsonNode request) throws Exception {
    var schema = new Schema.Parser().parse(text(request));
    var settings = kafkaSettings(request);
    settings.putAll(registrySettings(request));
    settings.put("key.serializer", StringSerializer.class);
    settings.put("value.serializer", KafkaAvroSerializer.class);
    var values = new ArrayList<Object>();
    for (JsonNode order : request.get("orders")) values.add(order.isNull() ? null : recordOf(order, schema));
    return send(request, settings, values);
  }

  static Object sendRaw(JsonNode request) throws Exception {
    var settings = kafkaSettings(request);
    settings.put("key.serializer", StringSerializer.class);
    settings.put("value.serializer", ByteArraySerializer.class);
    var values = new ArrayList<Object>();
    for (JsonNode value : request.get("values")) values.add(Base64.getDecoder().decode(value.asText()));
    return send(request, settings, values);
  }

  static Object send(JsonNode request, Map<String, Object> settings, List<Object> values) throws Exception {
    settings.put("acks", "all");
    try (var producer = new KafkaProducer<String, Object>(settings)) {
      var sent = new ArrayList<Future<?>>();
      for (int i = 0; i < values.size(); i++)
        sent.add(producer.send(new ProducerRecord<>(request.get("topic").asText(), 0, "" + i, values.get(i))));
      producer.flush();
      for (Future<?> each : sent) each.get();
    } catch (ExecutionException cause) {
      throw (Exception) cause.getCause();
    }
    return null;
  }

  static Object consume(JsonNode request) {
    var settings = kafkaSettings(request);
    settings.putAll(registrySettings(request));
    settings.put("key.deserializer", StringDeserializer.class);
    settings.put("value.deserializer", KafkaAvroDeserializer.class);
    var orders = new ArrayList<Object>();
    try (var consumer = new KafkaConsumer<String, Object>(settings)) {
      var partition = new TopicPartition(request.get("topic").asText(), 0);
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (orders.size() < request.get("count").asInt() && System.nanoTime() < end)
        for (ConsumerRecord<String, Object> each : consumer.poll(Duration.ofMillis(200)))
          orders.add(each.value() == null ? null : orderOf((GenericRecord) each.value()));
    }
    return orders;
  }

  static GenericRecord recordOf(JsonNode order, Schema schema) {
    var record = new GenericData.Record(schema);
    record.put("id", Long.parseLong(order.get("id").asText()));
    record.put("customer", order.get("customer").asText());
    record.put("total", order.get("total").asDouble());
    var tags = new ArrayList<String>();
    for (JsonNode tag : order.get("tags")) tags.add(tag.asText());
    record.put("tags", tags);
    var lines = new ArrayList<GenericRecord>();
    for (JsonNode each : order.get("lines")) {
      var line = new GenericData.Record(schema.getField("lines").schema().getElementType());
      line.put("sku", each.get("sku").asText());
      line.put("count", each.get("count").asInt());
      lines.add(line);
    }
    record.put("lines", lines);
    record.put("note", order.get("note").isNull() ? null : order.get("note").asText());
    record.put("status", new GenericData.EnumSymbol(schema.getField("status").schema(), order.get("status").asText()));
    return record;
  }

  static Map<String, Object> orderOf(GenericRecord record) {
    var order = new HashMap<String, Object>();
    order.put("id", record.get("id").toString());
    order.put("customer", record.get("customer").toString());
    order.put("total", record.get("total"));
    var tags = new ArrayList<String>();
    for (Object tag : (List<?>) record.get("tags")) tags.add(tag.toString());
    order.put("tags", tags);
    var lines = new ArrayList<Object>();
    for (Object each : (List<?>) record.get("lines")) {
      var line = (GenericRecord) each;
      lines.add(Map.of("sku", line.get("sku").toString(), "count", line.get("count")));
    }
    order.put("lines", lines);
    order.put("note", record.get("note") == null ? null : record.get("note").toString());
    order.put("status", record.get("status").toString());
    return order;
  }

  static ObjectNode errorOf(Exception cause) {
    // The serializer wraps the exception of the registry's client.
    Throwable inner = cause;
    while (!(inner instanceof RestClientException) && inner.getCause() != null) inner = inner.getCause();
    ObjectNode said = JSON.createObjectNode();
    if (inner instanceof RestClientException) {
      var refused = (RestClientException) inner;
      said.put("type", "RestClientException").put("message", refused.getMessage());
      return said.put("status", refused.getStatus()).put("code", refused.getErrorCode());
    }
    return said.put("type", cause.getClass().getSimpleName()).put("message", String.valueOf(cause.getMessage()));
  }
}
