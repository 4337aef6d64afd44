// Answers, for one JSON line with two schemas, how Confluent's AvroSchema (with Avro 1.11 inside) and Avro 1.12 see them:
// one JSON line each. A request is {"reader": "text", "writer": "text"}.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.avro.AvroSchema;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.node.ObjectNode;

public class AvroOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            String reader = request.get("reader").asText();
            String writer = request.get("writer").asText();
            ObjectNode answer = JSON.createObjectNode();
            see(reader, answer.putObject("reader"));
            see(writer, answer.putObject("writer"));
            compare(reader, writer, answer);
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    private static AvroSchema confluent(String text, boolean isNew) {
        return new AvroSchema(text, Collections.emptyList(), Collections.emptyMap(), null, isNew);
    }

    private static void see(String text, ObjectNode answer) {
        try {
            answer.put("canonical12", new Schema.Parser(NameValidator.STRICT_VALIDATOR).parse(text).toString());
        } catch (RuntimeException e) {
            answer.put("refused12", String.valueOf(e.getMessage()));
        }
        try {
            AvroSchema schema = confluent(text, true);
            answer.put("canonical11", schema.canonicalString());
            answer.put("normalized", schema.normalize().canonicalString());
        } catch (RuntimeException e) {
            answer.put("refused11", String.valueOf(e.getMessage()));
        }
        try {
            answer.put("stored", confluent(text, false).canonicalString());
        } catch (RuntimeException e) {
            answer.put("refusedStored", String.valueOf(e.getMessage()));
        }
    }

    private static void compare(String reader, String writer, ObjectNode answer) {
        try {
            answer.put("compatible", confluent(reader, false).isBackwardCompatible(confluent(writer, false)).isEmpty());
        } catch (RuntimeException e) {
            return;
        }
        try {
            ArrayNode reasons = JSON.createArrayNode();
            SchemaCompatibility.checkReaderWriterCompatibility(lenient(reader), lenient(writer)).getResult()
                .getIncompatibilities().forEach(each -> reasons.addObject()
                    .put("type", each.getType().name()).put("path", each.getLocation()));
            answer.set("reasons", reasons);
        } catch (RuntimeException e) {
            answer.put("failed", String.valueOf(e.getMessage()));
        }
    }

    private static Schema lenient(String text) {
        return new Schema.Parser(NameValidator.NO_VALIDATION).setValidateDefaults(false).parse(text);
    }
}
