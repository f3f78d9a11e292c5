package bundle

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What is added to the name of a file that is downloaded or copied: a number for the second one of a name (browsers,
// file managers, wget), a word for a copy, an extension that a browser takes for the type of the file.
var (
	addedNumber    = regexp.MustCompile(`^(.*?)([ _]?[(（][0-9]{1,3}[)）])(\..*)?$`)
	addedCopy      = regexp.MustCompile(`^(.*?)( - Copy| - 副本| copy| 副本|的副本)( [0-9]{1,3})?(\..*)?$`)
	addedExtension = regexp.MustCompile(`^(.*\.(?:gz|[0-9]{3,4}))()(\.(?:txt|download|bin|dat))$`)
	addedBehind    = regexp.MustCompile(`^(.*\.tar\.gz\.[0-9]{3,4})()(\.(?:[0-9]{1,2}|gz))$`)
	unfinished     = regexp.MustCompile(`^(.*)(\.(?:crdownload|part|partial|opdownload|aria2|td))$`)
)

// cleanName returns the name that a file of a bundle had before it was downloaded or copied, and what was added to it
// since: "" for the name of any other file.
func cleanName(name string) (clean, added string) {
	clean = name
	for range 3 {
		if m := addedNumber.FindStringSubmatch(clean); m != nil {
			clean, added = m[1]+m[3], m[2]+added
			continue
		}
		if m := addedCopy.FindStringSubmatch(clean); m != nil {
			clean, added = m[1]+m[4], m[2]+m[3]+added
			continue
		}
		m := addedExtension.FindStringSubmatch(clean)
		if m == nil {
			m = addedBehind.FindStringSubmatch(clean)
		}
		if m == nil {
			break
		}
		clean, added = m[1], m[3]+added
	}
	if _, n := cutPart(clean); added == "" || n == 0 && !strings.HasSuffix(clean, ".tar.gz") {
		return name, ""
	}
	return clean, added
}

// cutRenamed is cutPart for the name of a part that something was added to.
func cutRenamed(name string) (bundle string, n int, added string) {
	clean, added := cleanName(name)
	if bundle, n = cutPart(clean); n == 0 {
		return name, 0, ""
	}
	return bundle, n, added
}

// set holds the parts of a bundle that a directory contains.
type set struct {
	base    string           // name of the whole
	clean   string           // the same without what was added to it
	first   string           // name of the first part, if it was asked for by another name than its exact one
	added   string           // what was added to that name
	exact   map[int]string   // names by number
	others  map[int][]string // names that something was added to
	halves  map[int]string   // downloads that have not finished
	highest int              // number
}

// listParts sorts the names of the directory of a bundle in parts. asked is the name of the part that was given, "" for
// the whole.
func listParts(whole, asked string) (*set, error) {
	names, err := readNames(filepath.Dir(whole))
	if err != nil {
		return nil, err
	}
	base := filepath.Base(whole)
	s := &set{base: base, exact: map[int]string{}, others: map[int][]string{}, halves: map[int]string{}}
	s.clean, _ = cleanName(base)
	if _, n, added := cutRenamed(asked); n == 1 {
		s.first, s.added = asked, added
	}
	slices.Sort(names)
	for _, name := range names {
		if b, n := cutPart(name); b == base && n > 0 {
			s.exact[n], s.highest = name, max(s.highest, n)
			continue
		}
		if b, n, _ := cutRenamed(name); n > 0 && b == s.clean {
			s.others[n], s.highest = append(s.others[n], name), max(s.highest, n)
		}
		if m := unfinished.FindStringSubmatch(name); m != nil {
			clean, _ := cleanName(m[1])
			if b, n := cutPart(clean); n > 0 && b == s.clean {
				s.halves[n], s.highest = name, max(s.highest, n)
			}
		}
	}
	return s, nil
}

// pick chooses the file of a part: the one that was asked for, one with the same addition as that one, the one with the
// exact name, or the only other one. The content shows whether it is the right one. "" for none; a fault where there
// are several, or the download has not finished.
func (s *set) pick(n int) (string, error) {
	if n == 1 && s.first != "" {
		return s.first, nil
	}
	var same []string
	for _, name := range s.others[n] {
		if _, _, added := cutRenamed(name); added == s.added {
			same = append(same, name)
		}
	}
	switch {
	case len(same) == 1:
		return same[0], nil
	case s.exact[n] != "":
		return s.exact[n], nil
	case len(s.others[n]) == 1:
		return s.others[n][0], nil
	case len(s.others[n]) > 1:
		return "", fault("bundle.part-which", nil, "part", PartName(s.base, n), "files",
			strings.Join(s.others[n], ", "))
	case s.halves[n] != "":
		return "", fault("bundle.unfinished", nil, "part", PartName(s.base, n), "half", s.halves[n])
	}
	return "", nil
}

// behind returns the number of the first part behind a gap at n.
func (s *set) behind(n int) int {
	for n < s.highest && s.exact[n] == "" && len(s.others[n]) == 0 {
		n++
	}
	return n
}

// renamed says which file is there in place of the one of a path: with something added to its name, or not finished. It
// is not read: without a part's checks, it could be any other bundle. nil if there is none.
func renamed(path string) error {
	names, err := readNames(filepath.Dir(path))
	if err != nil {
		return nil
	}
	slices.Sort(names)
	base := filepath.Base(path)
	for _, name := range names {
		if clean, added := cleanName(name); added != "" && clean == base {
			return fault("bundle.renamed", nil, "other", name, "name", base)
		}
		if m := unfinished.FindStringSubmatch(name); m != nil {
			if clean, _ := cleanName(m[1]); clean == base {
				return fault("bundle.unfinished", nil, "part", base, "half", name)
			}
		}
	}
	return nil
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
