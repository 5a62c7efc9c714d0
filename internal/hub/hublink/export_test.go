package hublink

// Remembered is how many answers of the hub the link waits to hear of.
func (l *Link) Remembered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.delivered)
}
