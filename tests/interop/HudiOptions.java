import java.io.File;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Prints the names of all options in Hudi's bundle, older names among them, one a line.
 *
 * <p>Arguments: the bundle, the folder of Spark's jars. What does not load without further jars is left out.
 */
public class HudiOptions {
    private static final String PROPERTY = "org.apache.hudi.common.config.ConfigProperty";

    public static void main(String[] arguments) throws Exception {
        List<URL> urls = new ArrayList<>();
        urls.add(new File(arguments[0]).toURI().toURL());
        for (File file : new File(arguments[1]).listFiles()) {
            if (file.getName().endsWith(".jar")) {
                urls.add(file.toURI().toURL());
            }
        }
        ClassLoader parent = ClassLoader.getSystemClassLoader().getParent();
        ClassLoader loader = new URLClassLoader(urls.toArray(new URL[0]), parent);
        Class<?> property = loader.loadClass(PROPERTY);
        TreeSet<String> names = new TreeSet<>();
        try (JarFile jar = new JarFile(arguments[0])) {
            for (Enumeration<JarEntry> entries = jar.entries(); entries.hasMoreElements();) {
                JarEntry entry = entries.nextElement();
                String file = entry.getName();
                if (file.startsWith("org/apache/hudi/") && file.endsWith(".class") && names(jar, entry)) {
                    String name = file.substring(0, file.length() - ".class".length());
                    try {
                        collect(Class.forName(name.replace('/', '.'), false, loader), property, names);
                    } catch (LinkageError error) {
                        System.err.println(name + ": " + error);
                    }
                }
            }
        }
        names.stream().filter(name -> name.startsWith("hoodie.")).forEach(System.out::println);
    }

    private static boolean names(JarFile jar, JarEntry entry) throws Exception {
        try (InputStream in = jar.getInputStream(entry)) {
            return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1).contains(PROPERTY.replace('.', '/'));
        }
    }

    private static void collect(Class<?> type, Class<?> property, TreeSet<String> names) throws Exception {
        boolean isScalaObject = type.getName().endsWith("$");
        for (Field field : type.getDeclaredFields()) {
            if (field.getType() == property && (isScalaObject || Modifier.isStatic(field.getModifiers()))) {
                field.setAccessible(true);
                Object owner = isScalaObject ? type.getField("MODULE$").get(null) : null;
                Object option = field.get(owner);
                if (option != null) {
                    names.add((String) property.getMethod("key").invoke(option));
                    for (Object older : (List<?>) property.getMethod("getAlternatives").invoke(option)) {
                        names.add((String) older);
                    }
                }
            }
        }
    }
}
