// The routes of the console, made of the table of pages. Each page is a folder in pages/. The browser loads it when it
// is shown.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { type PageId, pages } from '../src/api/pages.ts'
import { Skeleton } from './parts/states.tsx'
import { routePath } from './shell/address.tsx'
import { Failed } from './shell/failed.tsx'
import { Gate } from './shell/gate.tsx'
import { Missing } from './shell/missing.tsx'

const screens: Readonly<Record<PageId, ReturnType<typeof lazyRouteComponent>>> = {
  overview: lazyRouteComponent(() => import('./pages/overview/overview.tsx'), 'Overview'),
  topics: lazyRouteComponent(() => import('./pages/topics/topics.tsx'), 'Topics'),
  topic: lazyRouteComponent(() => import('./pages/topic/topic.tsx'), 'Topic'),
  messages: lazyRouteComponent(() => import('./pages/messages/messages.tsx'), 'Messages'),
  groups: lazyRouteComponent(() => import('./pages/groups/groups.tsx'), 'Groups'),
  group: lazyRouteComponent(() => import('./pages/group/group.tsx'), 'Group'),
  schemas: lazyRouteComponent(() => import('./pages/schemas/schemas.tsx'), 'Schemas'),
  subject: lazyRouteComponent(() => import('./pages/subject/subject.tsx'), 'Subject'),
  brokers: lazyRouteComponent(() => import('./pages/brokers/brokers.tsx'), 'Brokers'),
  broker: lazyRouteComponent(() => import('./pages/broker/broker.tsx'), 'Broker'),
  storage: lazyRouteComponent(() => import('./pages/storage/storage.tsx'), 'Storage'),
  security: lazyRouteComponent(() => import('./pages/security/security.tsx'), 'Security'),
  agents: lazyRouteComponent(() => import('./pages/agents/agents.tsx'), 'Agents'),
  signIn: lazyRouteComponent(() => import('./pages/sign-in/sign-in.tsx'), 'SignIn'),
  setup: lazyRouteComponent(() => import('./pages/setup/setup.tsx'), 'Setup'),
  password: lazyRouteComponent(() => import('./pages/password/password.tsx'), 'Password'),
}

const root = createRootRoute({ component: Gate, notFoundComponent: Missing, errorComponent: Failed })

const routes = (Object.keys(pages) as PageId[]).map(id =>
  createRoute({
    getParentRoute: () => root,
    path: routePath(id),
    component: screens[id],
    // The pages read their parameters themselves (shell/address.tsx); here they are the texts of the address.
    validateSearch: (search: Record<string, unknown>) => search,
  }),
)

/** Every value of a search stays the text that it is: a router that guesses would turn a topic `007` into 7. */
function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

function stringifySearch(search: Record<string, unknown>): string {
  const given = new URLSearchParams(search as Record<string, string>)
  return given.size === 0 ? '' : `?${given}`
}

/** The time in ms until a page whose code does not come has a placeholder. Before, the page that was left stays. */
const PENDING_MS = 300

export const router = createRouter({
  routeTree: root.addChildren(routes),
  defaultPreload: 'intent',
  defaultErrorComponent: Failed,
  defaultPendingComponent: () => <Skeleton rows={6} />,
  defaultPendingMs: PENDING_MS,
  defaultPendingMinMs: 0,
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
})
