/**
 * The table of pages: address, search parameters, the first query, and the page's code, which is loaded when it is wanted.
 * The server answers each of these addresses with the same page (`rest/site/dashboard.ts`).
 */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import type { FunctionComponent } from 'react';
import { z } from 'zod/mini';
import { prefetch } from './lib/client.ts';
import { loadTexts } from './lib/i18n.ts';
import { accountQuery } from './pages/account/account-query.ts';
import { knownColumns } from './pages/content/columns.ts';
import { collectionQuery, contentQuery, contentSearchQuery } from './pages/content/content-query.ts';
import { collectionSearch, contentSearchParams } from './pages/content/search-params.ts';
import { draftsQuery } from './pages/drafts/drafts-query.ts';
import { draftChangesQuery, reviewQuery } from './pages/drafts/review-query.ts';
import { entryQuery } from './pages/entry/entry-query.ts';
import { filesQuery } from './pages/files/files-query.ts';
import { homeQuery } from './pages/home/home-query.ts';
import { deletedMediaQuery, mediaQuery } from './pages/media/media-query.ts';
import { headQuery, tabQueries, tabs } from './pages/organization/organization-query.ts';
import { settingsQuery } from './pages/settings/settings-query.ts';
import { deploymentQuery, environmentQuery, previewsQuery, siteQuery } from './pages/site/site-query.ts';
import { startQuery } from './pages/start/start-query.ts';
import {
  deliveriesQuery,
  triggerQuery,
  workflowQuery,
  workflowsQuery,
  workflowTabs,
} from './pages/workflows/workflows-query.ts';
import { projectQuery, shownDraftsQuery } from './shell/project-query.ts';
import { Root } from './shell/root.tsx';
import { NotFound, NotFoundAlone } from './shell/states.tsx';

/**
 * A component that is loaded when it is wanted, with the texts it needs beside those of what is around it. Its module's type is left out of account:
 * pages use the type of this table.
 */
const part = (load: () => Promise<unknown>, name: string, texts?: Parameters<typeof loadTexts>[0]): FunctionComponent =>
  lazyRouteComponent(async () => {
    const [module] = await Promise.all([load(), texts && loadTexts(texts)]);
    return module as Record<string, FunctionComponent>;
  }, name) as FunctionComponent;

/** A parameter that a person may have changed by hand: what is not of its kind counts as absent. */
const text = z.catch(z.optional(z.string()), undefined);
const organizationSearch = z.object({
  tab: z.catch(z.optional(z.enum(tabs)), undefined),
  after: text,
  actor: text,
  action: text,
  subject: text,
  since: text,
  until: text,
});

const root = createRootRoute({ component: Root, notFoundComponent: NotFoundAlone });

/** Pages for who is not signed in. */
const account = createRoute({
  getParentRoute: () => root,
  id: 'account-pages',
  component: part(() => import('./pages/sign-in/outside.tsx'), 'Outside'),
});
const signIn = createRoute({
  getParentRoute: () => account,
  path: '/sign-in',
  validateSearch: z.object({ next: z.optional(z.string()) }),
  component: part(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
});
const setup = createRoute({
  getParentRoute: () => account,
  path: '/setup',
  component: part(() => import('./pages/sign-in/link-pages.tsx'), 'setup'),
});
const join = createRoute({
  getParentRoute: () => account,
  path: '/join',
  component: part(() => import('./pages/sign-in/link-pages.tsx'), 'join'),
});
const reset = createRoute({
  getParentRoute: () => account,
  path: '/reset',
  component: part(() => import('./pages/sign-in/link-pages.tsx'), 'reset'),
});

/** Pages for who is. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: part(() => import('./shell/inside.tsx'), 'Inside', 'inside'),
});
const start = createRoute({
  getParentRoute: () => inside,
  path: '/',
  loader: () => prefetch(startQuery()),
  component: part(() => import('./pages/start/start-page.tsx'), 'StartPage'),
});

/** A project: everything below works in one version of its content. */
const project = createRoute({
  getParentRoute: () => inside,
  path: '/p/$organization/$project',
  validateSearch: z.object({ draft: z.optional(z.string()) }),
  loaderDeps: ({ search: { draft } }) => ({ draft }),
  loader: ({ params, deps }) => {
    prefetch(projectQuery({ ...params, draft: deps.draft }));
    prefetch(shownDraftsQuery(params));
  },
  component: part(() => import('./shell/project-frame.tsx'), 'ProjectFrame'),
  notFoundComponent: NotFound,
});
const organization = createRoute({
  getParentRoute: () => inside,
  path: '/o/$organization',
  validateSearch: organizationSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ params: { organization }, deps }) => {
    prefetch(headQuery(organization));
    prefetch(tabQueries[deps.tab ?? 'projects'](organization, deps) as never);
  },
  component: part(() => import('./pages/organization/organization-page.tsx'), 'OrganizationPage'),
});
const ownAccount = createRoute({
  getParentRoute: () => inside,
  path: '/account',
  loader: () => prefetch(accountQuery()),
  component: part(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
});
const home = createRoute({
  getParentRoute: () => project,
  path: '/',
  loaderDeps: ({ search: { draft } }) => ({ draft }),
  loader: ({ params, deps: { draft } }) => prefetch(homeQuery({ ...params, draft })),
  component: part(() => import('./pages/home/home-page.tsx'), 'HomePage'),
});
const content = createRoute({
  getParentRoute: () => project,
  path: '/content',
  validateSearch: contentSearchParams,
  loaderDeps: ({ search: { draft, q, after } }) => ({ draft, q, after }),
  loader: ({ params, deps: { draft, ...search } }) => {
    const place = { ...params, draft };
    if (search.q === undefined) prefetch(contentQuery(place));
    else prefetch(contentSearchQuery(place, search));
  },
  component: part(() => import('./pages/content/content-page.tsx'), 'ContentPage'),
});
const collection = createRoute({
  getParentRoute: () => project,
  path: '/content/$collection',
  validateSearch: collectionSearch,
  loaderDeps: ({ search: { draft, page: _, ...search } }) => ({ draft, search }),
  loader: ({ params: { collection, ...where }, deps: { draft, search } }) => {
    const place = { ...where, draft };
    prefetch(collectionQuery(place, collection, search, knownColumns(place, collection)));
  },
  component: part(() => import('./pages/content/collection-page.tsx'), 'CollectionPage'),
});
const entry = createRoute({
  getParentRoute: () => project,
  path: '/content/$collection/$',
  // Without a slug it is the collection.
  params: { parse: (params) => (params._splat ? params : false) },
  loaderDeps: ({ search: { draft } }) => ({ draft }),
  loader: ({ params: { organization, project, collection, _splat }, deps: { draft } }) =>
    prefetch(entryQuery({ organization, project, draft }, collection, _splat ?? '')),
  component: part(() => import('./pages/entry/entry-page.tsx'), 'EntryPage', 'entry'),
});
const newEntry = createRoute({
  getParentRoute: () => project,
  path: '/new/$collection',
  // An entry it is a copy of, and the slug that is proposed for it.
  validateSearch: z.object({ from: z.optional(z.string()), slug: z.optional(z.string()) }),
  loaderDeps: ({ search: { draft } }) => ({ draft }),
  loader: ({ params: { collection, ...where }, deps: { draft } }) =>
    prefetch(entryQuery({ ...where, draft }, collection, undefined)),
  component: part(() => import('./pages/entry/new-entry-page.tsx'), 'NewEntryPage', 'entry'),
});
const media = createRoute({
  getParentRoute: () => project,
  path: '/media',
  validateSearch: z.object({ path: z.optional(z.string()), q: z.optional(z.string()), after: z.optional(z.string()) }),
  loaderDeps: ({ search: { draft, path, q, after } }) => ({ draft, path, q, after }),
  loader: ({ params, deps: { draft, ...search } }) => prefetch(mediaQuery({ ...params, draft }, search)),
  component: part(() => import('./pages/media/media-page.tsx'), 'MediaPage'),
});
const deletedMedia = createRoute({
  getParentRoute: () => project,
  path: '/media/deleted',
  validateSearch: z.object({ after: text }),
  loaderDeps: ({ search: { draft, after } }) => ({ draft, after }),
  loader: ({ params, deps: { draft, after } }) => prefetch(deletedMediaQuery({ ...params, draft }, after)),
  component: part(() => import('./pages/media/deleted-media-page.tsx'), 'DeletedMediaPage'),
});
const drafts = createRoute({
  getParentRoute: () => project,
  path: '/drafts',
  validateSearch: z.object({
    tab: z.optional(z.enum(['drafts', 'reviews'])),
    state: z.optional(z.enum(['open', 'merged', 'closed'])),
    q: z.optional(z.string()),
    after: z.optional(z.string()),
    // With the form of a new draft.
    new: z.catch(z.optional(z.boolean()), undefined),
  }),
  loaderDeps: ({ search: { tab, state, q, after } }) => ({ tab, state, q, after }),
  loader: ({ params, deps }) => prefetch(draftsQuery(params, deps)),
  component: part(() => import('./pages/drafts/drafts-page.tsx'), 'DraftsPage'),
});
const draftChanges = createRoute({
  getParentRoute: () => project,
  path: '/drafts/changes',
  loaderDeps: ({ search: { draft } }) => ({ draft }),
  loader: ({ params, deps: { draft } }) => draft && prefetch(draftChangesQuery(params, draft)),
  component: part(() => import('./pages/drafts/changes-page.tsx'), 'ChangesPage'),
});
const review = createRoute({
  getParentRoute: () => project,
  path: '/drafts/reviews/$number',
  loader: ({ params }) => prefetch(reviewQuery(params, params.number)),
  component: part(() => import('./pages/drafts/review-page.tsx'), 'ReviewPage'),
});
const flag = z.catch(z.optional(z.boolean()), undefined);
const openFile = z.object({
  file: z.catch(z.optional(z.coerce.string()), undefined),
  edit: flag,
  new: flag,
  version: text,
});
const files = createRoute({
  getParentRoute: () => project,
  path: '/files',
  validateSearch: openFile,
  loaderDeps: ({ search: { draft, ...search } }) => ({ draft, search }),
  loader: ({ params, deps: { draft, search } }) => prefetch(filesQuery({ ...params, draft }, '', search)),
  component: part(() => import('./pages/files/files-page.tsx'), 'FilesPage'),
});
const directory = createRoute({
  getParentRoute: () => project,
  path: '/files/$',
  params: { parse: (params) => (params._splat ? params : false) },
  validateSearch: openFile,
  loaderDeps: ({ search: { draft, ...search } }) => ({ draft, search }),
  loader: ({ params: { _splat = '', ...params }, deps: { draft, search } }) =>
    prefetch(filesQuery({ ...params, draft }, _splat, search)),
  component: part(() => import('./pages/files/files-page.tsx'), 'FilesPage'),
});
const site = createRoute({
  getParentRoute: () => project,
  path: '/site',
  // With the form of a new environment.
  validateSearch: z.object({ new: z.catch(z.optional(z.boolean()), undefined), after: text }),
  loaderDeps: ({ search: { after } }) => ({ after }),
  loader: ({ params, deps: { after } }) => {
    prefetch(siteQuery(params, after));
    prefetch(previewsQuery(params));
  },
  component: part(() => import('./pages/site/site-page.tsx'), 'SitePage', 'environment'),
});
const deployment = createRoute({
  getParentRoute: () => project,
  path: '/site/deployments/$deployment',
  validateSearch: z.object({ job: text }),
  loader: ({ params }) => prefetch(deploymentQuery(params, Number(params.deployment))),
  component: part(() => import('./pages/site/deployment-page.tsx'), 'DeploymentPage'),
});
const environment = createRoute({
  getParentRoute: () => project,
  path: '/site/environments/$environment',
  params: { parse: (params) => (/^\d{1,9}$/.test(params.environment) ? params : false) },
  validateSearch: z.object({ after: text }),
  loaderDeps: ({ search: { after } }) => ({ after }),
  loader: ({ params, deps: { after } }) => prefetch(environmentQuery(params, Number(params.environment), after)),
  component: part(() => import('./pages/site/environment/environment-page.tsx'), 'EnvironmentPage', 'environment'),
});
const workflows = createRoute({
  getParentRoute: () => project,
  path: '/workflows',
  validateSearch: z.object({ q: text, after: text }),
  loaderDeps: ({ search: { q, after } }) => ({ q, after }),
  loader: ({ params, deps }) => prefetch(workflowsQuery(params, deps)),
  component: part(() => import('./pages/workflows/workflows-page.tsx'), 'WorkflowsPage', 'workflows'),
});
const newWorkflow = createRoute({
  getParentRoute: () => project,
  path: '/workflows/new',
  component: part(() => import('./pages/workflows/new-workflow-page.tsx'), 'NewWorkflowPage', 'workflows'),
});
const workflow = createRoute({
  getParentRoute: () => project,
  path: '/workflows/$workflow',
  validateSearch: z.object({ tab: z.catch(z.optional(z.enum(workflowTabs)), undefined), after: text }),
  loaderDeps: ({ search: { tab, after } }) => ({ tab, after }),
  loader: ({ params, deps }) => prefetch(workflowQuery(params, deps)),
  component: part(() => import('./pages/workflows/workflow-page.tsx'), 'WorkflowPage', 'workflows'),
});
const trigger = createRoute({
  getParentRoute: () => project,
  path: '/workflows/$workflow/triggers/$trigger',
  validateSearch: z.object({ after: text, delivery: text }),
  loaderDeps: ({ search: { after } }) => ({ after }),
  loader: ({ params, deps }) => {
    prefetch(triggerQuery(params));
    prefetch(deliveriesQuery(params, deps));
  },
  component: part(() => import('./pages/workflows/trigger-page.tsx'), 'TriggerPage', 'workflows'),
});
const settings = createRoute({
  getParentRoute: () => project,
  path: '/settings',
  loader: ({ params }) => prefetch(settingsQuery(params)),
  component: part(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
});

const tree = root.addChildren([
  account.addChildren([signIn, setup, join, reset]),
  inside.addChildren([
    start,
    ownAccount,
    organization,
    project.addChildren([
      ...[home, content, collection, entry, newEntry, media, files, directory, site, workflows, settings],
      ...[deletedMedia, drafts, draftChanges, review],
      ...[environment, deployment, newWorkflow, workflow, trigger],
    ]),
  ]),
]);

export const router = createRouter({ routeTree: tree, defaultPreload: false, scrollRestoration: false });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
