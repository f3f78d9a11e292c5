package i18n

func zhCommon() map[string]string {
	return map[string]string{
		"fault.internal":      "发生了尚未归类的错误：{cause}",
		"fault.internal.next": "请附上本次运行的事件日志进行反馈。",
	}
}
