// A client of GSSAPI that a test drives over its standard input, one command a line; each gets one line as an answer.
// With the system property `sun.security.jgss.native` it is MIT Kerberos that makes the tokens, else Java.
//
//   login PRINCIPAL KEYTAB          gets a ticket, as Kafka's Java client does (not with MIT Kerberos)
//   sasl HOST QOP IDENTITY          begins javax.security.sasl with the mechanism GSSAPI; IDENTITY `-` is none
//   gss HOST MUTUAL DELEGATE        begins a plain security context
//   step TOKEN                      gives the client the broker's token
//   wrap SEALED DATA, unwrap TOKEN  on the established context of `gss`
//
// Answers: `token BASE64 COMPLETE`, `ok`, or `failed REASON`.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.security.PrivilegedExceptionAction;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.GSSName;
import org.ietf.jgss.MessageProp;
import org.ietf.jgss.Oid;

public class Initiator {
  static Subject subject;
  static SaslClient sasl;
  static GSSContext context;

  public static void main(String[] args) throws Exception {
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.split(" ");
      String answer;
      try {
        answer = subject == null ? run(words) : Subject.doAs(subject, (PrivilegedExceptionAction<String>) () -> run(words));
      } catch (Exception error) {
        answer = "failed " + reasonOf(error).replace('\n', ' ');
      }
      System.out.println(answer);
    }
  }

  static String reasonOf(Throwable error) {
    return error + (error.getCause() == null ? "" : " because of " + reasonOf(error.getCause()));
  }

  static String run(String[] words) throws Exception {
    switch (words[0]) {
      case "login":
        return login(words[1], words[2]);
      case "sasl": {
        Map<String, String> options = new HashMap<>();
        options.put(Sasl.QOP, words[2]);
        String identity = words[3].equals("-") ? null : words[3];
        sasl = Sasl.createSaslClient(new String[] {"GSSAPI"}, identity, "kafka", words[1], options, null);
        context = null;
        return token(sasl.evaluateChallenge(new byte[0]));
      }
      case "gss": {
        GSSManager manager = GSSManager.getInstance();
        GSSName name = manager.createName("kafka@" + words[1], GSSName.NT_HOSTBASED_SERVICE);
        context = manager.createContext(name, new Oid("1.2.840.113554.1.2.2"), null, GSSContext.DEFAULT_LIFETIME);
        context.requestMutualAuth(Boolean.parseBoolean(words[2]));
        context.requestCredDeleg(Boolean.parseBoolean(words[3]));
        sasl = null;
        return token(context.initSecContext(new byte[0], 0, 0));
      }
      case "step": {
        byte[] token = words.length == 1 ? new byte[0] : Base64.getDecoder().decode(words[1]);
        return token(sasl != null ? sasl.evaluateChallenge(token) : context.initSecContext(token, 0, token.length));
      }
      case "wrap": {
        byte[] data = Base64.getDecoder().decode(words[2]);
        return token(context.wrap(data, 0, data.length, new MessageProp(0, Boolean.parseBoolean(words[1]))));
      }
      case "unwrap": {
        byte[] token = Base64.getDecoder().decode(words[1]);
        return token(context.unwrap(token, 0, token.length, new MessageProp(0, false)));
      }
      default:
        throw new IllegalArgumentException("no command " + words[0]);
    }
  }

  static String token(byte[] token) {
    boolean isComplete = sasl != null ? sasl.isComplete() : context.isEstablished();
    String text = token == null || token.length == 0 ? "-" : Base64.getEncoder().encodeToString(token);
    return "token " + text + " " + isComplete;
  }

  static String login(String principal, String keytab) throws Exception {
    Map<String, String> options = new HashMap<>();
    options.put("useKeyTab", "true");
    options.put("keyTab", keytab);
    options.put("principal", principal);
    options.put("storeKey", "true");
    options.put("doNotPrompt", "true");
    options.put("refreshKrb5Config", "true");
    AppConfigurationEntry entry =
        new AppConfigurationEntry(
            "com.sun.security.auth.module.Krb5LoginModule",
            AppConfigurationEntry.LoginModuleControlFlag.REQUIRED,
            options);
    Configuration configuration =
        new Configuration() {
          @Override
          public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
            return new AppConfigurationEntry[] {entry};
          }
        };
    LoginContext login = new LoginContext("client", null, null, configuration);
    login.login();
    subject = login.getSubject();
    return "ok";
  }
}
