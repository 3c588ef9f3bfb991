/** What a page shows instead of its content: nothing there, nothing yet, not allowed, broken. */
import { Button, Skeleton, Stack, Text, Title } from '@mantine/core';
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
}

/** A page or part that has nothing to show says why, and what to do first. */
export function Notice({ title, children, action, role }: NoticeProps) {
  return (
    <div className={classes.notice} role={role}>
      <Title order={2} size="h2">
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

export function NotFound() {
  const { t } = useTranslation();
  return <Notice title={t('not_found')}>{t('not_found_lead')}</Notice>;
}

/** A page that could not be loaded. */
export function Failure({ fault, onRetry }: { fault: Fault; onRetry?: () => void }) {
  const { t } = useTranslation();
  if (fault.code === 'NOT_FOUND') return <NotFound />;
  if (fault.code === 'FORBIDDEN')
    return (
      <Notice title={t('forbidden')} role="alert">
        {fault.message}
      </Notice>
    );
  const action = onRetry && (
    <Button variant="default" onClick={onRetry}>
      {t('retry')}
    </Button>
  );
  return (
    <Notice title={t('failed')} role="alert" action={action}>
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
