// Loaded into a broker that a test starts (`--import probe.ts?stall=MS`): it stands still for so long at SIGWINCH.

const stallMs = Number(new URL(import.meta.url).searchParams.get('stall'))

process.on('SIGWINCH', () => {
  const begunAt = performance.now()
  while (performance.now() - begunAt < stallMs);
})
