import { ActionIcon, Input, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import classes from './copyable.module.css';

interface CopyableProps {
  value: string;
  label: string;
  hint?: string;
}

/** What is copied rather than read: an address, a token, a command. It can be selected whole by one click. */
export function Copyable({ value, label, hint }: CopyableProps) {
  const { t } = useTranslation();
  const { copy, copied } = useClipboard({ timeout: 2000 });
  const says = copied ? t('copied') : t('copy_what', { what: label });
  return (
    <div className={classes.copyable}>
      <Input.Label component="div">{label}</Input.Label>
      {hint && <Input.Description>{hint}</Input.Description>}
      <div className={classes.line}>
        <code className={classes.value}>{value}</code>
        <Tooltip label={says}>
          <ActionIcon
            variant="default"
            size={32}
            onClick={() => copy(value)}
            aria-label={t('copy_what', { what: label })}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      </div>
      <span className="unseen" role="status">
        {copied && t('copied')}
      </span>
    </div>
  );
}
