// A module for a broker that a test starts (`--import probe.ts?stall=MS`). At SIGWINCH it blocks the event loop for
// MS ms.

const stallMs = Number(new URL(import.meta.url).searchParams.get('stall'))

process.on('SIGWINCH', () => {
  const begunAt = performance.now()
  while (performance.now() - begunAt < stallMs);
})
