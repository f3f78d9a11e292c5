// Sbom writes the bill of materials of one of our programs for a release: sbom PROGRAM VERSION FILE. Its date is that
// of SOURCE_DATE_EPOCH, so that the same program has the same bytes.
package main

import (
	"log"
	"os"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/sbom"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: sbom PROGRAM VERSION FILE")
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func write(program, version, file string) error {
	epoch, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64) // without it: 1970
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := sbom.WriteProgram(f, program, version, time.Unix(epoch, 0)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
