// A Kafka Streams application for streams.ts: a table of the input topic's last value of each key, and the last value
// of each key in each window of time. Both stores have a changelog in Kafka and files in the state folder.
//
//   Streams ADDRESS ID STATE_FOLDER TOPIC WINDOW_MS RETENTION_MS [NAME=VALUE ...]
//
// The pairs are configs of Kafka Streams. It prints `state NAME` when its state changes, and `failed ERROR` if a thread
// dies of an error. For each line on standard input, the name of a file, it writes all entries of the stores into that
// file and prints `wrote NAME`. An entry is a line: `table KEY VALUE` or `window KEY START VALUE`. Of a value, only the
// part before the first space is written. The first line is `restored COUNT`: the records that it has read from the
// changelogs.

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.WindowStore;

public class Streams {
    public static void main(String[] args) throws Exception {
        Properties configs = new Properties();
        configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        configs.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        configs.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        for (int i = 6; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            configs.put(pair[0], pair[1]);
        }
        KafkaStreams streams = new KafkaStreams(
            topology(args[3], Duration.ofMillis(Long.parseLong(args[4])), Duration.ofMillis(Long.parseLong(args[5]))),
            configs);
        streams.setStateListener((now, before) -> say("state " + now));
        streams.setGlobalStateRestoreListener(restores);
        streams.setUncaughtExceptionHandler(error -> {
            say("failed " + error);
            error.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String file = in.readLine(); file != null; file = in.readLine()) {
            while (!isWritten(streams, file)) Thread.sleep(100);
            say("wrote " + new File(file).getName());
        }
        streams.close();
    }

    private static org.apache.kafka.streams.Topology topology(String topic, Duration window, Duration retention) {
        StreamsBuilder builder = new StreamsBuilder();
        KTable<String, String> table = builder.table(
            topic,
            Consumed.with(Serdes.String(), Serdes.String()),
            Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("table")
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.String()));
        // The last value, and not a sum: after a kill the application reads some of its input again.
        table.toStream().groupByKey()
            .windowedBy(TimeWindows.ofSizeAndGrace(window, window))
            .reduce(
                (before, now) -> now,
                Materialized.<String, String, WindowStore<Bytes, byte[]>>as("windows")
                    .withKeySerde(Serdes.String()).withValueSerde(Serdes.String()).withRetention(retention));
        return builder.build();
    }

    /** Returns false while a rebalance has closed the stores. */
    private static boolean isWritten(KafkaStreams streams, String file) throws IOException {
        try (PrintWriter out = new PrintWriter(file, "UTF-8")) {
            write(streams, out);
            return true;
        } catch (InvalidStateStoreException closed) {
            return false;
        }
    }

    private static void write(KafkaStreams streams, PrintWriter out) {
        out.println("restored " + restored);
        try (KeyValueIterator<String, String> all = streams.store(
                StoreQueryParameters.fromNameAndType("table", QueryableStoreTypes.<String, String>keyValueStore())).all()) {
            while (all.hasNext()) {
                KeyValue<String, String> entry = all.next();
                out.println("table " + entry.key + " " + first(entry.value));
            }
        }
        try (KeyValueIterator<Windowed<String>, String> all = streams.store(
                StoreQueryParameters.fromNameAndType("windows", QueryableStoreTypes.<String, String>windowStore()))
                .fetchAll(Instant.EPOCH, Instant.now().plusSeconds(3600))) {
            while (all.hasNext()) {
                KeyValue<Windowed<String>, String> entry = all.next();
                out.println("window " + entry.key.key() + " " + entry.key.window().start() + " " + first(entry.value));
            }
        }
    }

    private static String first(String value) {
        return value.substring(0, value.indexOf(' '));
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static final AtomicLong restored = new AtomicLong();

    private static final StateRestoreListener restores = new StateRestoreListener() {
        public void onRestoreStart(TopicPartition partition, String store, long from, long to) { }

        public void onBatchRestored(TopicPartition partition, String store, long to, long count) { }

        public void onRestoreEnd(TopicPartition partition, String store, long total) {
            restored.addAndGet(total);
        }
    };
}
