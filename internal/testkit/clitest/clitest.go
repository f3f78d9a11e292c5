// Package clitest checks the flags of a program, its manual pages, and the command lines in its help and in the
// documentation against its commands.
package clitest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/output/cli"
)

// Line is a command line of a program, without the program's name.
type Line struct {
	Where string // FILE:LINE, or the command whose help has it
	Text  string
	Args  []string
	// Whole: it can be typed as it is. Else it is mentioned in a sentence, and may lack its arguments.
	Whole bool
}

// Pages are the pages for users, from the directory of a test of cmd/PROGRAM.
func Pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"../../README*.md", "../../docs/*.md", "../../docs/zh/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		out = append(out, found...)
	}
	return out
}

var (
	code = regexp.MustCompile("`([^`]+)`")
	// end is where a command line ends: at a comment, at the next column, at another command.
	end = regexp.MustCompile(` #|   +|\s[|<>]|\s*&&|;|。|，`)
)

// Of are the command lines of a program in a page: the lines of its code blocks, and what stands between backquotes.
func Of(t *testing.T, page string, programs ...string) []Line {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []Line
	fenced, n := false, 0
	for line := range strings.Lines(string(text)) {
		n++
		where := page + ":" + strconv.Itoa(n)
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(line, "    ") {
			for part := range strings.SplitSeq(line, "&&") {
				out = append(out, lineOf(where, strings.TrimSpace(part), true, programs)...)
			}
			continue
		}
		for _, m := range code.FindAllStringSubmatch(line, -1) {
			out = append(out, lineOf(where, m[1], false, programs)...)
		}
	}
	return out
}

// Help are the command lines in the help of a program's commands.
func Help(root *cobra.Command) []Line {
	var out []Line
	each(root, func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			out = append(out, lineOf("help of "+cmd.CommandPath(), strings.TrimSpace(line), true,
				[]string{root.Name()})...)
		}
	})
	return out
}

// stop is where a command line in a sentence ends.
var stop = regexp.MustCompile(`[.,;:](?: |$|\n)|[()。，；：（）“”、\n]| (?:or|and|或|和) `)

// Mentioned are the command lines of a program in the sentences of a language. A sentence may say more behind them.
func Mentioned(t *testing.T, root *cobra.Command, lang string) []Line {
	t.Helper()
	text, err := os.ReadFile("../../internal/output/i18n/sentences/" + lang + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var out []Line
	for key, sentence := range all {
		for _, rest := range strings.Split(sentence, root.Name()+" ")[1:] {
			if i := stop.FindStringIndex(rest); i != nil {
				rest = rest[:i[0]]
			}
			args := words(rest)
			if len(args) == 0 || !has(root, args[0]) {
				continue // "eggo-tui again"
			}
			out = append(out, Line{Where: lang + " " + key, Text: root.Name() + " " + rest, Args: args})
		}
	}
	return out
}

func has(cmd *cobra.Command, name string) bool {
	return slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
}

func each(cmd *cobra.Command, use func(*cobra.Command)) {
	use(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, use)
	}
}

func lineOf(where, text string, whole bool, programs []string) []Line {
	first, rest, _ := strings.Cut(text, " ")
	for _, p := range programs {
		if filepath.Base(first) != p || strings.HasPrefix(rest, "…") {
			continue
		}
		if i := end.FindStringIndex(" " + rest); i != nil {
			rest = strings.TrimSpace((" " + rest)[:i[0]])
		}
		rest = strings.NewReplacer("[", "", "]", "", "…", "", "...", "").Replace(rest)
		return []Line{{Where: where, Text: text, Args: words(rest), Whole: whole}}
	}
	return nil
}

// words are those of a shell's line, without what is around them in quotes.
func words(line string) []string {
	var out []string
	for _, w := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		out = append(out, strings.Trim(w, `'"`))
	}
	return out
}

// Check holds a line against the commands of a program: there are its verbs and its flags, and a whole line has the
// arguments that its command wants.
func Check(t *testing.T, root *cobra.Command, l Line) {
	t.Helper()
	cmd, rest, err := root.Find(l.Args)
	if err != nil {
		t.Errorf("%s: %s: %v", l.Where, l.Text, err)
		return
	}
	err = cmd.ParseFlags(rest)
	if needed := (*pflag.ValueRequiredError)(nil); !l.Whole && errors.As(err, &needed) {
		return // "--id" alone, in a sentence
	}
	if err != nil {
		t.Errorf("%s: %s: %v", l.Where, l.Text, err)
		return
	}
	args := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(args) > 0 && (l.Whole || cli.IsGroup(cmd)) {
		t.Errorf("%s: %s: %v", l.Where, l.Text, cli.UnknownCommand(cmd, args))
		return
	}
	if !l.Whole {
		return
	}
	if err := cmd.ValidateArgs(args); err != nil {
		t.Errorf("%s: %s: %v", l.Where, l.Text, err)
	}
	if err := cmd.ValidateFlagGroups(); err != nil && !strings.Contains(l.Text, "[") { // [-f FILE] [--id NAME]
		t.Errorf("%s: %s: %v", l.Where, l.Text, err)
	}
	if !cmd.Runnable() {
		t.Errorf("%s: %s: it does nothing", l.Where, l.Text)
	}
}
