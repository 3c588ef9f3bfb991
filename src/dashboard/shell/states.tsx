/** What a page shows instead of its content: nothing there, nothing yet, not allowed, broken. */
import { Button, Skeleton, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Fault } from '../lib/faults.ts';
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

function Missing({ order }: { order: 1 | 2 }) {
  const { t } = useTranslation();
  return (
    <Notice title={t('not_found')} order={order} action={<Link to="/">{t('to_start')}</Link>}>
      {t('not_found_lead')}
    </Notice>
  );
}

/** Stands for a page at an address that has none. */
export function NotFound() {
  return <Missing order={1} />;
}

interface FailureProps {
  fault: Fault;
  onRetry?: () => void;
  /** As of a notice. */
  order?: 1 | 2;
}

/** A page, or a part of one, that could not be loaded. */
export function Failure({ fault, onRetry, order = 2 }: FailureProps) {
  const { t } = useTranslation();
  if (fault.code === 'NOT_FOUND') return <Missing order={order} />;
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
