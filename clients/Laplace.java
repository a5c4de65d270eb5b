// Protocol 1 of dpwitness in Java 11 or later, no library: a sum with Laplace noise of scale 1.
//
//   dpwitness audit --command 'java Laplace.java' --epsilon 1 --pair '[0]' '[0, 1]'
//
// Replace draw; the rest is the protocol (docs/protocol.md).
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

public class Laplace {
  /** SplitMix64 (Steele, Lea and Flood, 2014): all randomness follows from the request's seed. */
  private static long state;

  private static double uniform() {
    long z = state += 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return (((z ^ (z >>> 31)) >>> 11) + 0.5) * 0x1p-53; // in (0, 1)
  }

  private static double draw(double[] database) {
    double u = uniform();
    double noise = u < 0.5 ? Math.log(2 * u) : -Math.log(2 - 2 * u);
    return Arrays.stream(database).sum() + noise;
  }

  /** The text after "name":; requests have no spaces and "database" comes last. */
  private static String after(String line, String name) {
    String key = "\"" + name + "\":";
    return line.substring(line.indexOf(key) + key.length());
  }

  private static long field(String line, String name) {
    return Long.parseLong(after(line, name).split("[^0-9]", 2)[0]);
  }

  private static double[] numbers(String text) {
    return Arrays.stream(text.split("[\\[\\],}\\s]+"))
        .filter(word -> !word.isEmpty())
        .mapToDouble(Double::parseDouble)
        .toArray();
  }

  public static void main(String[] arguments) throws IOException {
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    var out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
    in.readLine(); // {"dpwitness":1}
    out.print("{\"dpwitness\": 1, \"name\": \"laplace in Java\"}\n");
    out.flush();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      int size = (int) field(line, "size");
      state = field(line, "seed");
      double[] database = numbers(after(line, "database"));
      ByteBuffer outputs = ByteBuffer.allocate(8 * size).order(ByteOrder.LITTLE_ENDIAN);
      for (int i = 0; i < size; i++) outputs.putDouble(draw(database));
      out.print(
          "{\"id\": " + field(line, "id") + ", \"dtype\": \"<f8\", \"shape\": [" + size + "]}\n");
      out.write(outputs.array(), 0, 8 * size);
      out.flush();
    }
  }
}
