import { Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormats } from '../lib/format.ts';

interface PagerProps {
  total: number;
  /** Cursor of the page shown; undefined: the first one. */
  after: string | undefined;
  page: { end_cursor: string | null; has_next_page: boolean };
  onGo: (after: string | undefined) => void;
}

/** Below a list that has more than a page: how many there are, back to the beginning, and on. */
export function Pager({ total, after, page, onGo }: PagerProps) {
  const { t } = useTranslation();
  const { number } = useFormats();
  if (after === undefined && !page.has_next_page) return null;
  return (
    <Group justify="space-between" mt="sm">
      <Text size="sm" c="dimmed">
        {t('of_total', { total: number(total) })}
      </Text>
      <Group gap="xs">
        <Button variant="default" size="xs" disabled={after === undefined} onClick={() => onGo(undefined)}>
          {t('first_page')}
        </Button>
        <Button
          variant="default"
          size="xs"
          disabled={!page.has_next_page}
          onClick={() => onGo(page.end_cursor ?? undefined)}
        >
          {t('next_page')}
        </Button>
      </Group>
    </Group>
  );
}
