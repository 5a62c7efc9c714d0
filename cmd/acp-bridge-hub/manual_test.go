package main

import (
	"flag"
	"testing"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli/clitest"
)

var _ = flag.Bool("update", false, "write texts that are made of comments anew")

// What the comments of packages tell operators is in the help, too.
func TestManualWithoutACheckout(t *testing.T) {
	clitest.Written(t, "load.txt", "Load: how many agents and answers a hub takes",
		clitest.Part{Dir: "../../internal/hub", Heading: "Load"},
		clitest.Part{Dir: "../../internal/hub", Heading: "A model for 1,000,000 waiting agents"},
		clitest.Part{Dir: ".", Heading: "Many machines"})
}
