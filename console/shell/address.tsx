// The address as the state of a page: typed search parameters, links, and going to another page. The table of pages is
// src/api/pages.ts.

import { useNavigate, useParams, useRouter, useSearch } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'
import { type PageId, type ParamsOf, pages, readSearch, type SearchOf, writeSearch } from '../../src/api/pages.ts'

export interface Target<Id extends PageId> {
  readonly page: Id
  readonly params?: ParamsOf<Id>
  readonly search?: Partial<SearchOf<Id>>
}

/** Returns the path of a page in the router's form. */
export function routePath(id: PageId): string {
  return pages[id].path.replaceAll(/:(\w+)/g, '$$$1')
}

/** Returns the address of a page, as it stands in a link. */
export function hrefOf<Id extends PageId>({ page, params, search = {} }: Target<Id>): string {
  const given: Readonly<Record<string, string>> = params ?? {}
  const path = pages[page].path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(given[name] ?? ''))
  const query = new URLSearchParams(writeSearch(page, search))
  return query.size === 0 ? path : `${path}?${query}`
}

export interface Here<Id extends PageId> {
  readonly params: ParamsOf<Id>
  readonly search: SearchOf<Id>
  /**
   * Changes some search parameters. With `isStep` the change becomes an entry of the browser's history, so that Back
   * takes it back.
   */
  set(values: Partial<SearchOf<Id>>, options?: { readonly isStep?: boolean }): void
}

/** Returns the parameters of the page that is shown. */
export function useHere<Id extends PageId>(page: Id): Here<Id> {
  const params = useParams({ strict: false }) as ParamsOf<Id>
  const given = useSearch({ strict: false }) as Readonly<Record<string, string | undefined>>
  const navigate = useNavigate()
  const search = readSearch(page, given)
  return {
    params,
    search,
    set(values, { isStep = false } = {}) {
      void navigate({
        to: routePath(page),
        params,
        search: writeSearch(page, { ...search, ...values }),
        replace: !isStep,
        resetScroll: false,
      } as never)
    },
  }
}

/** Returns a function that goes to a page. */
export function useGo(): <Id extends PageId>(target: Target<Id>, options?: { readonly replace?: boolean }) => void {
  const navigate = useNavigate()
  return ({ page, params, search = {} }, { replace = false } = {}) =>
    void navigate({ to: routePath(page), params, search: writeSearch(page, search), replace } as never)
}

interface PageLinkProps<Id extends PageId> extends Target<Id> {
  readonly children: ReactNode
  readonly className?: string
  readonly title?: string
  readonly isCurrent?: boolean
  /** Runs before the page changes. */
  readonly onPress?: () => void
}

/**
 * A link to a page of the console, whose code is loaded when the pointer or the focus comes to it. The router's own
 * Link follows every change of the address, and a table has a hundred links.
 */
export function PageLink<Id extends PageId>(props: PageLinkProps<Id>) {
  const {
    page,
    children,
    className = 'text-accent underline-offset-2 hover:underline',
    title,
    isCurrent = false,
    onPress,
  } = props
  const router = useRouter()
  const go = useGo()
  const preload = () => void router.loadRouteChunk(router.routesById[routePath(page)])
  return (
    <a
      href={hrefOf(props)}
      className={className}
      title={title}
      aria-current={isCurrent ? 'page' : undefined}
      onMouseEnter={preload}
      onFocus={preload}
      onClick={event => {
        if (!isPlainPress(event)) return
        event.preventDefault()
        onPress?.()
        go(props)
      }}
    >
      {children}
    </a>
  )
}

/** Returns whether a press on a link goes there in this tab. */
export function isPlainPress(event: MouseEvent): boolean {
  return !(event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
}
