// The ways to the pages: a column beside the page, or a list over it on a phone.

import { Bot, Boxes, Braces, Database, Gauge, Layers, type LucideIcon, ShieldCheck, Users } from 'lucide-react'
import { type Page, type PageId, pages } from '../../src/api/pages.ts'
import { PageLink } from './address.tsx'

const ICONS: Readonly<Partial<Record<PageId, LucideIcon>>> = {
  overview: Gauge,
  topics: Layers,
  groups: Users,
  schemas: Braces,
  brokers: Boxes,
  storage: Database,
  security: ShieldCheck,
  agents: Bot,
}

/** Returns the page whose entry is marked: that of the path itself, or of the list that the path belongs to. */
export function sectionOf(path: string): PageId | undefined {
  return (Object.keys(pages) as PageId[]).find(id => {
    const { path: own, label }: Page = pages[id]
    return label !== null && (own === path || (own !== '/' && path.startsWith(`${own}/`)))
  })
}

export function Navigation({ path, onLeave }: { readonly path: string; readonly onLeave?: () => void }) {
  const current = sectionOf(path)
  return (
    <nav aria-label="Pages">
      <ul className="flex flex-col gap-1">
        {(Object.keys(pages) as PageId[]).map(id => {
          const { label }: Page = pages[id]
          const Icon = ICONS[id]
          if (label === null) return null
          return (
            <li key={id}>
              <PageLink
                page={id}
                {...(onLeave === undefined ? {} : { onPress: onLeave })}
                isCurrent={id === current}
                className={`flex min-h-9 items-center gap-3 rounded-control px-3 max-md:min-h-11 ${id === current ? 'bg-info-soft font-medium text-accent' : 'text-text hover:bg-raised'}`}
              >
                {Icon !== undefined && <Icon size={18} aria-hidden />}
                {label}
              </PageLink>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
