// Answers, for one JSON line with two schemas, how Confluent's AvroSchema and Apache Avro see them: one JSON line.
// A request is {"reader": "text", "writer": "text"}.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.avro.AvroSchema;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.avro.shaded.org.apache.avro.SchemaCompatibility;

public final class AvroOracle {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      ObjectNode answer = JSON.createObjectNode();
      AvroSchema reader = see(request.get("reader").asText(), answer.putObject("reader"));
      AvroSchema writer = see(request.get("writer").asText(), answer.putObject("writer"));
      if (reader != null && writer != null) compare(reader, writer, answer);
      out.println(JSON.writeValueAsString(answer));
    }
    out.flush();
  }

  private static AvroSchema see(String text, ObjectNode answer) {
    try {
      new org.apache.avro.Schema.Parser(org.apache.avro.NameValidator.STRICT_VALIDATOR).parse(text);
      answer.put("strict", true);
    } catch (RuntimeException e) {
      answer.put("strict", false).put("why", String.valueOf(e.getMessage()));
    }
    try {
      AvroSchema schema = new AvroSchema(text, Collections.emptyList(), Collections.emptyMap(), null, false);
      answer.put("canonical", schema.canonicalString());
      try {
        answer.put("normalized", schema.normalize().canonicalString());
      } catch (RuntimeException e) {
        answer.put("abnormal", String.valueOf(e));
      }
      return schema;
    } catch (RuntimeException e) {
      answer.put("unreadable", String.valueOf(e.getMessage()));
      return null;
    }
  }

  private static void compare(AvroSchema reader, AvroSchema writer, ObjectNode answer) {
    answer.put("compatible", reader.isBackwardCompatible(writer).isEmpty());
    ArrayNode reasons = answer.putArray("reasons");
    try {
      SchemaCompatibility.checkReaderWriterCompatibility(reader.rawSchema(), writer.rawSchema()).getResult()
          .getIncompatibilities().forEach(each -> reasons.addObject()
              .put("type", each.getType().name()).put("path", each.getLocation()));
    } catch (RuntimeException e) {
      answer.put("failed", String.valueOf(e.getMessage()));
    }
  }
}
