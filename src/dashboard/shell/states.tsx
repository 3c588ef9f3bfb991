/** What a page shows instead of its content: nothing there, nothing yet, not allowed, broken. */
import { Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { Link, useLocation, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Fault } from '../lib/faults.ts';
import { MarkedText } from '../parts/marked-text.tsx';
import classes from './states.module.css';

interface NoticeProps {
  title: string;
  children?: ReactNode;
  /** What to do about it. */
  action?: ReactNode;
  role?: 'alert' | 'status';
  /** Level of its heading: 1 where it stands for the whole page. */
  order?: 1 | 2;
}

/** A page or part that has nothing to show says why, and what to do first. */
export function Notice({ title, children, action, role, order = 2 }: NoticeProps) {
  return (
    <div className={classes.notice} role={role}>
      <Title order={order} size="h2">
        {title}
      </Title>
      {children && (
        <Text c="dimmed" maw="48ch">
          {children}
        </Text>
      )}
      {action}
    </div>
  );
}

/** Where one can go from an address of nothing: to what is around it. @param isProject the project itself is missing */
function WaysOn({ isProject }: { isProject: boolean }) {
  const { t } = useTranslation();
  const { organization, project, collection } = useParams({ strict: false });
  const { draft } = useSearch({ strict: false });
  const isFile = useLocation({ select: ({ pathname }) => pathname.includes('/files') });
  if (organization === undefined) return <Link to="/">{t('to_start')}</Link>;
  if (project === undefined || isProject)
    return (
      <Link to="/o/$organization" params={{ organization }} search={{}}>
        {t('to_organization', { name: organization })}
      </Link>
    );
  const params = { organization, project };
  return (
    <Group gap="md">
      {collection !== undefined && (
        <Link to="/p/$organization/$project/content" params={params} search={{ draft }}>
          {t('to_content')}
        </Link>
      )}
      {isFile && (
        <Link to="/p/$organization/$project/files" params={params} search={{ draft }}>
          {t('to_files')}
        </Link>
      )}
      <Link to="/p/$organization/$project" params={params} search={{ draft }}>
        {t('to_project')}
      </Link>
    </Group>
  );
}

/** A path of an address as a person reads it; one that cannot be read is left as it is. */
function readable(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
}

function Missing({ order, isProject = false }: { order: 1 | 2; isProject?: boolean }) {
  const { t } = useTranslation();
  const pathname = useLocation({ select: ({ pathname }) => pathname });
  const { file } = useSearch({ strict: false });
  const { organization, project } = useParams({ strict: false });
  const whole = [readable(pathname), file].filter(Boolean).join('/');
  const inside = `/p/${organization}/${project}/`;
  const name = isProject ? (project ?? whole) : whole.startsWith(inside) ? whole.slice(inside.length) : whole;
  return (
    <Notice title={t('not_found')} order={order} action={<WaysOn isProject={isProject} />}>
      <MarkedText text={name} />. {t('not_found_lead')}
    </Notice>
  );
}

/** Stands for a page at an address that has none. */
export function NotFound() {
  return <Missing order={1} />;
}

/** The same where nothing is around it. */
export function NotFoundAlone() {
  return (
    <main className={classes.alone}>
      <NotFound />
    </main>
  );
}

interface FailureProps {
  fault: Fault;
  onRetry?: () => void;
  /** As of a notice. */
  order?: 1 | 2;
  /** It is the project itself that could not be loaded. */
  isProject?: boolean;
}

/** A page, or a part of one, that could not be loaded. */
export function Failure({ fault, onRetry, order = 2, isProject = false }: FailureProps) {
  const { t } = useTranslation();
  if (fault.code === 'NOT_FOUND') return <Missing order={order} isProject={isProject} />;
  if (fault.code === 'FORBIDDEN')
    return (
      <Notice title={t('forbidden')} role="alert" order={order}>
        {fault.message}
      </Notice>
    );
  const action = onRetry && (
    <Button variant="default" onClick={onRetry}>
      {t('retry')}
    </Button>
  );
  return (
    <Notice title={t('failed')} role="alert" action={action} order={order}>
      {fault.message}
    </Notice>
  );
}

/** The place of a list or form until it is there, in its height, so that nothing jumps. */
export function Waiting({ rows = 8 }: { rows?: number }) {
  const { t } = useTranslation();
  return (
    <Stack gap={12} aria-busy="true" role="status" aria-label={t('loading')}>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={24} width={`${90 - ((row * 17) % 40)}%`} radius={4} />
      ))}
    </Stack>
  );
}
