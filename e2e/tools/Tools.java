// Runs Kafka's command-line tools one after the other in one JVM, because a start takes longer than most tools do.
//
// Each line of standard input is {"main": class, "args": [...], "input": text, "withinMs": n}. The response to each
// is {"status": n or null, "out": text, "err": text}. A tool that exits stops its thread there, as it would end its
// process. For a tool that takes too long the status is null, and its thread is left behind.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.utils.Exit;

public class Tools {
    private static final JsonMapper JSON = new JsonMapper();

    public static void main(String[] ignored) throws Exception {
        InputStream questions = System.in;
        PrintStream answers = System.out;
        BufferedReader lines = new BufferedReader(new InputStreamReader(questions, StandardCharsets.UTF_8));
        Exit.setShutdownHookAdder((name, hook) -> { });
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(JSON.writeValueAsString(run(JSON.readTree(line))));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    record Answer(Integer status, String out, String err) { }

    private static Answer run(JsonNode question) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(question.get("input").asText().getBytes(StandardCharsets.UTF_8)));
        CompletableFuture<Integer> status = new CompletableFuture<>();
        Exit.Procedure exit = (code, message) -> end(status, code);
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        String[] args = JSON.convertValue(question.get("args"), String[].class);
        Class<?> tool = Class.forName(question.get("main").asText());
        Thread thread = new Thread(() -> call(tool, args, status), "tool");
        thread.setDaemon(true);
        thread.start();
        Integer code;
        try {
            code = status.get(question.get("withinMs").asLong(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            code = null;
        }
        System.out.flush();
        System.err.flush();
        return new Answer(code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    private static void call(Class<?> tool, String[] args, CompletableFuture<Integer> status) {
        try {
            tool.getMethod("main", String[].class).invoke(null, (Object) args);
            status.complete(0);
        } catch (InvocationTargetException error) {
            error.getCause().printStackTrace();
            status.complete(1);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Stops the thread: an exit does not return. */
    private static void end(CompletableFuture<Integer> status, int code) {
        status.complete(code);
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
