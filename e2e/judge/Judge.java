// Serves Kafka's own generated message classes over standard input and output.
//
//   definitions   prints the definition of every message in the client jar, one JSON object a line
//   messages      answers each line  name <tab> version <tab> value as JSON <tab> bytes as hex
//                 with               the bytes of the value <tab> the bytes of the value that it reads from the given bytes
//                 or with            ! and the error that it threw

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HexFormat;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

public class Judge {
    private static final JsonMapper JSON =
        JsonMapper.builder().enable(JsonReadFeature.ALLOW_JAVA_COMMENTS).build();
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        if (args[0].equals("definitions")) printDefinitions(out);
        else answerMessages(out);
        out.flush();
    }

    private static void printDefinitions(PrintStream out) throws Exception {
        String path = Message.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        try (JarFile jar = new JarFile(path)) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                if (!entry.getName().matches("common/message/\\w+\\.json")) continue;
                out.println(JSON.readTree(jar.getInputStream(entry)));
            }
        }
    }

    private static void answerMessages(PrintStream out) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", 4);
            try {
                out.println(answer(parts[0], Short.parseShort(parts[1]), parts[2], parts[3]));
            } catch (InvocationTargetException error) {
                out.println("!" + String.valueOf(error.getCause()).replace('\n', ' '));
            } catch (Exception error) {
                out.println("!" + String.valueOf(error).replace('\n', ' '));
            }
        }
    }

    private static String answer(String name, short version, String json, String hex) throws Exception {
        Class<?> type = classOf(name);
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        Message given = (Message) converter.getMethod("read", JsonNode.class, short.class)
            .invoke(null, JSON.readTree(json), version);
        ByteBuffer bytes = ByteBuffer.wrap(HEX.parseHex(hex));
        Message read = (Message) type.getDeclaredConstructor().newInstance();
        read.read(new ByteBufferAccessor(bytes), version);
        if (bytes.hasRemaining()) throw new IllegalStateException(bytes.remaining() + " bytes are left over");
        return write(given, version) + "\t" + write(read, version);
    }

    private static Class<?> classOf(String name) throws ClassNotFoundException {
        String full = "org.apache.kafka.common.message." + name;
        boolean isPaired = name.endsWith("Request") || name.endsWith("Response");
        return Class.forName(isPaired ? full + "Data" : full);
    }

    private static String write(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HEX.formatHex(bytes);
    }
}
