package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What a help text says stands on the page as it is, whatever troff would read in it.
func TestAPageShowsWhatTheHelpSays(t *testing.T) {
	root := &cobra.Command{
		Use: "prog", Short: "Do it", Long: ".so /etc/passwd\n'quoted' C:\\new\n\n  prog -x --long\n.SH NOT A SECTION",
		Example: "  .example \\fBnot bold",
	}
	root.Flags().String("file", "", "the `FILE` to read")
	root.Flags().String("secret", "", "nobody is told")
	root.Flags().Lookup("secret").Hidden = true
	root.PersistentFlags().Bool("debug", false, ".debug")
	sub := &cobra.Command{Use: "sub [NAME]", Short: "Do less", Run: func(*cobra.Command, []string) {}}
	gone := &cobra.Command{Use: "gone", Short: "Not shown", Hidden: true, Run: func(*cobra.Command, []string) {}}
	gone.AddCommand(&cobra.Command{Use: "below", Run: func(*cobra.Command, []string) {}})
	root.AddCommand(sub, gone)
	pages := Pages(root, "1.0")
	if len(pages) != 2 || pages["prog-sub.1"] == "" {
		t.Fatalf("%d pages: %v", len(pages), pages)
	}
	text := pages["prog.1"]
	for line := range strings.Lines(text) {
		macro, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch macro {
		case ".TH", ".SH", ".PP", ".TP", ".nf", ".fi":
		default:
			if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
				t.Errorf("troff takes this for a command: %q", line)
			}
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("%s", text)
	}
	man(t, text, ".so /etc/passwd", `'quoted' C:\new`, "prog -x --long", ".SH NOT A SECTION", `.example \fBnot bold`,
		"--file FILE", ".debug", "sub [NAME]", "prog-sub(1)")
}

// man renders a page where groff is, and wants no warning and these words.
func man(t *testing.T, text string, want ...string) {
	t.Helper()
	if _, err := exec.LookPath("groff"); err != nil {
		t.Log("groff is not here: the page is not rendered")
		return
	}
	cmd := exec.CommandContext(t.Context(), "groff", "-man", "-Tutf8", "-ww", "-P-cbou")
	cmd.Stdin = strings.NewReader(text)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		t.Errorf("groff: %v %s\n%s", err, &said, text)
	}
	for _, w := range want {
		if !strings.Contains(strings.ReplaceAll(string(out), "−", "-"), w) {
			t.Errorf("the page lacks %q:\n%s", w, out)
		}
	}
}
