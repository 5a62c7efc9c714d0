//go:build !unix

package claudetest

func leaveGroup() {}

func closeStdin() {}

func (e *engine) watchPipes() {}
