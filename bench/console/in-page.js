// Runs in a page before its own scripts, and notes when things were painted, moved, or held up the page. All times are
// in ms since the navigation began.

;(() => {
  const ROWS = 100

  /** Resolves after the frame that shows the present state of the page. */
  const painted = () =>
    new Promise(resolve => {
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => resolve(performance.now())
        port2.postMessage(null)
      })
    })

  /** Resolves with the time after the first frame that shows a state of the page. */
  const shown = (isThere, options) =>
    new Promise(resolve => {
      const observer = new MutationObserver(() => look())
      const look = () => {
        if (!isThere()) return
        observer.disconnect()
        resolve(painted())
      }
      observer.observe(document, { childList: true, subtree: true, ...options })
      look()
    })

  const entries = { 'layout-shift': [], 'largest-contentful-paint': [] }
  for (const type of Object.keys(entries))
    new PerformanceObserver(list => entries[type].push(...list.getEntries())).observe({ type, buffered: true })

  let pressedAtMs = 0
  for (const type of ['keydown', 'click']) addEventListener(type, event => (pressedAtMs = event.timeStamp), true)

  const isFiltered = text => {
    const table = document.querySelector('table[aria-busy=false]')
    if (table === null || !document.querySelector('main [role=status]').textContent.includes(`“${text}”`)) return false
    const rows = [...table.tBodies[0].rows]
    return rows.length > 0 && rows.every(row => row.dataset.key.includes(text))
  }

  globalThis.bench = {
    /** When the first 100 rows were painted. */
    rows: shown(() => document.querySelectorAll('tbody > tr').length >= ROWS),
    largestPaintMs: () => entries['largest-contentful-paint'].at(-1)?.startTime ?? null,
    /** Resolves with the time from the latest keystroke until the rows that contain this text were painted. */
    filtered: async text => {
      const atMs = await shown(() => isFiltered(text), { attributes: true, characterData: true })
      return atMs - pressedAtMs
    },
    /** Resolves with the time from the latest click until the editor has painted its first lines. */
    opened: async () => {
      // No observer sees into a shadow root.
      const isOpen = () => document.querySelector('[data-large-text]')?.shadowRoot?.querySelector('.cm-line')
      while (!isOpen()) await new Promise(resolve => requestAnimationFrame(resolve))
      return (await painted()) - pressedAtMs
    },
    shifts: () =>
      entries['layout-shift']
        .filter(({ hadRecentInput }) => !hadRecentInput)
        .map(({ value, startTime, sources }) => ({
          value,
          atMs: startTime,
          of: sources.map(({ node }) => (node === null ? 'a removed node' : describe(node))).slice(0, 3),
        })),
  }

  function describe(node) {
    const element = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement
    return `${element.localName} ${JSON.stringify(element.textContent.trim().slice(0, 40))}`
  }
})()
