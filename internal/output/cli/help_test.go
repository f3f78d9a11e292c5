package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// The Chinese help has no word of cobra's or pflag's, and each default once.
func TestHelpIsInOneLanguage(t *testing.T) {
	root := &cobra.Command{Use: "prog", Short: "做", Long: "很长的说明"}
	sub := &cobra.Command{Use: "sub", Short: "做一部分", Run: func(*cobra.Command, []string) {}}
	sub.Flags().String("file", "a.yaml", "`文件` 要读取的文件")
	sub.Flags().String("other", "b.yaml", "`文件` 另一个文件（默认 c.yaml）")
	sub.Flags().Bool("force", false, "覆盖")
	sub.MarkFlagsMutuallyExclusive("file", "other")
	group := Group(&cobra.Command{Use: "group", Short: "几个命令", Run: func(*cobra.Command, []string) {}})
	group.AddCommand(&cobra.Command{Use: "one", Short: "其中之一", Run: func(*cobra.Command, []string) {}})
	root.AddCommand(sub, group)
	Localize(root, i18n.NewPrinter(i18n.Chinese))
	Help(root, func(string) string { return "" })
	var out strings.Builder
	root.SetOut(&out)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs([]string{"sub", "--file", "x", "--other", "y"})
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "file other") {
		t.Errorf("two flags of which there may be one: %v", err)
	}
	for _, args := range [][]string{{"--help"}, {"sub", "--help"}, {"group", "--help"}} {
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
	}
	got := out.String()
	for _, want := range []string{"--file 文件   要读取的文件（默认 a.yaml）\n", "另一个文件（默认 c.yaml）\n",
		"prog [命令]", "prog sub [参数]", "prog group [命令]"} {
		if !strings.Contains(got, want) {
			t.Errorf("the help lacks %q:\n%s", want, got)
		}
	}
	for _, never := range []string{"flags", "command", "default", "Usage", "b.yaml", "`", "prog group [参数]"} {
		if strings.Contains(got, never) {
			t.Errorf("the help has %q:\n%s", never, got)
		}
	}
}
