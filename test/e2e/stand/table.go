package stand

import (
	"fmt"
	"os"
	"strings"
)

// longCell is how much of a text a cell shows.
const longCell = 240

// Cell is a text that does not leave its cell of a table in Markdown.
func Cell(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	if r := []rune(text); len(r) > longCell {
		text = string(r[:longCell]) + "…"
	}
	return text
}

// InPage is a page of docs with another table of a program: between two lines, of which the first names it.
func InPage(page, program, table string) (string, error) {
	begin, end := "<!-- table of "+program+" -->\n", "<!-- end of the table -->\n"
	before, rest, ok := strings.Cut(page, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("the page has no place for the table: %q and %q", begin, end)
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}

// WriteTable writes the table of a program into a page.
func WriteTable(file, program, table string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := InPage(string(page), program, table)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
