// The clocks of the browser, for everything outside of api/ and shell/.

/** Returns the time in ms since 1970, as this computer has it. */
export function nowMs(): number {
  return Date.now()
}

/** Returns a time in ms that never goes back, for measuring. */
export function monotonicMs(): number {
  return performance.now()
}
