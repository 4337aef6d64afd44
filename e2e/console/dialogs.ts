// Opens the dialogs of a page, and checks the manners of each: its name, where the focus is, and how it closes.

import type { ElementHandle, Locator, Page } from 'playwright-core'
import { systemClock } from '../../src/base/clock.ts'

/** The controls that may open a dialog. A control of a form sends the form instead. */
const OPENERS =
  'main :is(button[data-operation]:not([type=submit]), button[aria-haspopup=dialog]):not(:disabled), main [data-operation] > button:not([type=submit]):not(:disabled)'

/**
 * A dialog opens within this time in ms, because its part of the console may have to be loaded, or within this many
 * times the time that the press takes, because the machine may be busy. Some controls open no dialog.
 */
const OPENS_WITHIN_MS = 3_000
const OPENS_WITHIN_PRESSES = 20

/** A dialog closes within this time in ms, also on a busy machine. */
const CLOSES_WITHIN_MS = 15_000

export interface Opener {
  /** The operation and the text, without the names of a row. */
  readonly kind: string
  readonly button: ElementHandle
}

/** Returns the controls that are seen and may open a dialog. */
export async function openersOf(page: Page): Promise<readonly Opener[]> {
  const found = await page.locator(OPENERS).elementHandles()
  // One question for all of them: a table may have hundreds.
  const kinds = await page.evaluate(
    elements =>
      elements.map(element => {
        if (!element.checkVisibility({ visibilityProperty: true }) || element.closest('dialog') !== null) return null
        // A record that is open lies over some of them.
        element.scrollIntoView({ block: 'center' })
        const { left, top, width, height } = element.getBoundingClientRect()
        const seen = element.ownerDocument.elementFromPoint(left + width / 2, top + height / 2)
        if (!element.contains(seen)) return null
        return `${element.closest('[data-operation]')?.getAttribute('data-operation') ?? ''}: ${element.textContent.trim()}`
      }),
    found,
  )
  return found.flatMap((button, at) => (kinds[at] == null ? [] : [{ kind: kinds[at], button }]))
}

/** Presses the control. Resolves with the dialog; null if the control opens none. */
export async function openDialog(page: Page, press: () => Promise<void>): Promise<Locator | null> {
  const begunMs = systemClock.monotonic()
  await press()
  const pressMs = systemClock.monotonic() - begunMs
  const dialog = page.locator('dialog[open]').last()
  const timeout = Math.max(OPENS_WITHIN_MS, OPENS_WITHIN_PRESSES * pressMs)
  const isOpen = await dialog.waitFor({ timeout }).then(
    () => true,
    () => false,
  )
  if (!isOpen) return null
  await page.locator('dialog[open]:not(:has([role=status][aria-label=Loading]))').last().waitFor()
  return dialog
}

/** The most presses of Tab. The presses end before if they have come by every control. */
const TABS = 20

/**
 * Checks the dialog and closes it. `opener` is the control that must have the focus afterwards; if it is gone, because
 * the dialog belongs to another page, the focus must be on the heading. Returns what is wrong.
 */
export async function closeWithManners(
  page: Page,
  dialog: Locator,
  opener: ElementHandle | null,
): Promise<readonly string[]> {
  const wrong: string[] = []
  const name = await nameOf(page)
  if (name === '') wrong.push('has no name')
  await page.evaluate('void (globalThis.tabbed = new WeakSet())')
  for (let press = 1; press <= TABS; press++) {
    await page.keyboard.press('Tab')
    const now = await placeOfFocus(page)
    if (/^(behind|covered)/.test(now)) wrong.push(`the focus is ${now} after ${press} times Tab`)
    if (now !== 'browser' && (await wasThere(page))) break
  }
  await page.keyboard.press('Escape')
  if (!(await isGone(dialog))) {
    wrong.push('Esc does not close it')
    await page.reload()
    return wrong
  }
  const isBack = await opener?.evaluate(element =>
    element.isConnected ? element.matches(':focus') : element.ownerDocument.activeElement.matches('h1'),
  )
  if (isBack === false)
    wrong.push(
      `the focus does not return, and is at ${await page.evaluate('document.activeElement.outerHTML.slice(0, 120)')}`,
    )
  return wrong
}

/** Notes the element that has the focus. Returns whether it was noted before. */
function wasThere(page: Page): Promise<boolean> {
  return page.evaluate(`(() => {
    const isKnown = tabbed.has(document.activeElement)
    tabbed.add(document.activeElement)
    return isKnown
  })()`)
}

/**
 * Returns where the focus is, and whether a bar of the dialog covers it. The browser's own bar follows the last
 * control; then no element has the focus.
 */
export function placeOfFocus(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const at = document.activeElement
    if (at === document.body) return 'browser'
    const place = at.outerHTML.slice(0, 120)
    if (!at.closest('dialog[open]')) return 'behind: ' + place
    // The bars of a dialog stay in the window, over its content.
    const { left, top, width, height } = at.getBoundingClientRect()
    const over = document.elementFromPoint(left + width / 2, top + height / 2)
    return over === null || (!at.contains(over) && !over.contains(at)) ? 'covered: ' + place : 'inside'
  })()`)
}

/** Returns the accessible name of the dialog that is open. */
export function nameOf(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const dialog = [...document.querySelectorAll('dialog[open]')].at(-1)
    const label = document.getElementById(dialog.getAttribute('aria-labelledby'))
    return label === null ? dialog.getAttribute('aria-label') ?? '' : label.innerText.trim()
  })()`)
}

export function isGone(dialog: Locator): Promise<boolean> {
  return dialog.waitFor({ state: 'detached', timeout: CLOSES_WITHIN_MS }).then(
    () => true,
    () => false,
  )
}
